#include "kernels/quantized/dynamic_quantize.h"

#include <algorithm>
#include <cmath>

#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Numbers that are worth a part of their own, and the most parts.
constexpr Size kPart = 1 << 15;
constexpr Size kMostParts = 64;

}  // namespace

void DynamicQuantize(const float* x, Size count, std::uint8_t* y, float* scale,
                     std::uint8_t* zero_point) {
  float low[kMostParts] = {}, high[kMostParts] = {};  // zero is in every range
  const Size parts = std::clamp<Size>(count / kPart, 1, kMostParts);
  const auto begin_of = [=](Size part) { return count * part / parts; };
  ParallelFor(parts, 1, [&](Size begin, Size end) {
    for (Size p = begin; p < end; ++p) {
      const Size first = begin_of(p);
      DynamicQuantizers().range(x + first, begin_of(p + 1) - first, &low[p], &high[p]);
    }
  });
  DynamicQuantizers().range(low, parts, &low[0], &high[0]);
  DynamicQuantizers().range(high, parts, &low[0], &high[0]);
  const float step = (high[0] - low[0]) / 255.0f;
  const float point = std::nearbyint(std::clamp(0.0f - low[0] / step, 0.0f, 255.0f));
  *scale = step;
  *zero_point = point == point ? static_cast<std::uint8_t>(point) : std::uint8_t{0};
  ParallelFor(parts, 1, [&](Size begin, Size end) {
    const Size first = begin_of(begin);
    DynamicQuantizers().quantize(x + first, begin_of(end) - first, step, *zero_point, y + first);
  });
}

}  // namespace headrace::cpu
