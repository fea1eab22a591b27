#include "kernels/products/few_rows.h"

#include <algorithm>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

constexpr Size kPartElements = 1 << 15;  // of b that are worth a part of their own
constexpr Size kStrip = 64;              // columns that are summed at once

}  // namespace

void MultiplyFewRows(const float* a, const float* b, float* y, Size rows, Size depth, Size columns,
                     bool transposed) {
  const auto multiply = transposed ? FewRowKernels().transposed : FewRowKernels().plain;
  const Size strips = CeilDiv(columns, kStrip);
  const Size grain = GrainOf(kPartElements, kStrip * std::max<Size>(1, depth));
  ParallelFor(strips, grain, [=](Size begin, Size end) {
    const Size first = begin * kStrip, count = std::min(columns, end * kStrip) - first;
    multiply(a, b + first * (transposed ? depth : 1), y + first, rows, depth, columns, count);
  });
}

}  // namespace headrace::cpu
