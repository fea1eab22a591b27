#include "resample.h"

#include <algorithm>

#include "resample_table.h"
#include "thread_pool.h"

namespace headrace::cpu {
namespace {

// Multiplications that are worth a part of their own.
constexpr Size kPartWork = 1 << 15;

// The axis is the last one: there is nothing to go along but the axis itself.
void ResampleLine(const Resample& axis, const float* x, float* y) {
  const std::int32_t* source = axis.sources.data();
  const float* weight = axis.weights.data();
  for (Size i = 0; i < axis.count; ++i) {
    float sum = 0;
    for (Size k = 0; k < axis.taps; ++k) sum += *weight++ * x[*source++];
    y[i] = sum;
  }
}

}  // namespace

void Interpolate(const Resample& axis, const float* x, float* y) {
  if (axis.inner == 0 || axis.count == 0) return;
  const bool lines = axis.inner == 1;
  const Size parts = lines ? axis.outer : axis.outer * axis.count;
  const Size work = axis.taps * (lines ? axis.count : axis.inner);
  ParallelFor(parts, std::max<Size>(1, kPartWork / work), [&](Size begin, Size end) {
    for (Size part = begin; part < end; ++part) {
      if (lines) {
        ResampleLine(axis, x + part * axis.length, y + part * axis.count);
        continue;
      }
      const Size o = part / axis.count, i = part % axis.count;
      Resamples().row(x + o * axis.length * axis.inner, axis.inner,
                      axis.sources.data() + i * axis.taps, axis.weights.data() + i * axis.taps,
                      axis.taps, y + part * axis.inner, axis.inner);
    }
  });
}

}  // namespace headrace::cpu
