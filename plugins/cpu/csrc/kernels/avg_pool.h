// Mean of each window.
#pragma once

#include "window.h"

namespace headrace::cpu {

struct AvgDivisor {
  bool count_include_pad;
  std::array<Size, 3> pad_end{0, 0, 0};
};

// x: T[planes, *w.in]; y: T[planes, *w.out]. The divisor counts real elements, and explicit
// padding too if count_include_pad; a tap beyond in + pad_end, where only ceil_mode can put one,
// counts for nothing. A window in which nothing counts gives 0.
void AvgPool(const float* x, float* y, Size planes, const Window& w, const AvgDivisor& divisor);
void AvgPool(const double* x, double* y, Size planes, const Window& w, const AvgDivisor& divisor);

}  // namespace headrace::cpu
