// Weighted sums along one axis: interpolation in space, axis by axis.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/images/resample_table.h"

namespace headrace::cpu {

// y[o, i, j] = sum over k < taps of weights[i][k] * x[o, sources[i][k], j], summed in S.
template <class S>
struct Resample {
  Size outer, length, inner;  // of x: [outer, length, inner]
  Size count, taps;           // y: [outer, count, inner]
  std::vector<std::int32_t> sources;
  std::vector<S> weights;

  // The same sums with no inner axis, where that is too short for a vector.
  void Flatten();
};

// With all threads. X and Y: float, or a pair of HEADRACE_RESAMPLED_IN_DOUBLES. Integers are sums
// cut towards zero and kept within their range; a sum that is one but for rounding is that integer.
template <class X, class Y>
void Interpolate(const Resample<SumOf<X>>& axis, const X* x, Y* y);

}  // namespace headrace::cpu
