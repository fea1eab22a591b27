// What interpolation needs of the instruction set.
#pragma once

#include "isa.h"

namespace headrace::cpu {

struct ResampleTable {
  // y[j] = sum over k of weights[k] * x[sources[k] * stride + j].
  void (*row)(const float* x, Size stride, const std::int32_t* sources, const float* weights,
              Size taps, float* y, Size count);
};
HEADRACE_TABLE(ResampleTable, Resamples)

}  // namespace headrace::cpu
