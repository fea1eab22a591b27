// Weighted sums along one axis: interpolation in space, axis by axis; float32.
#pragma once

#include <cstdint>
#include <vector>

#include "isa.h"

namespace headrace::cpu {

// y[o, i, j] = sum over k < taps of weights[i][k] * x[o, sources[i][k], j].
struct Resample {
  Size outer, length, inner;  // of x: [outer, length, inner]
  Size count, taps;           // y: [outer, count, inner]
  std::vector<std::int32_t> sources;
  std::vector<float> weights;
};

// With all threads.
void Interpolate(const Resample& axis, const float* x, float* y);

}  // namespace headrace::cpu
