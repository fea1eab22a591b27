// Mean of each window.
#pragma once

#include <array>
#include <vector>

#include "kernels/windows/fold_windows.h"

namespace headrace::cpu {

struct AvgDivisor {
  bool count_include_pad;
  std::array<Size, 3> pad_end{0, 0, 0};
};

// The divisor counts real elements, and explicit padding too if count_include_pad; a tap beyond
// in + pad_end, where only ceil_mode can put one, counts for nothing. A window in which nothing
// counts gives 0. T is float or double.
template <class T>
class AvgPool {
 public:
  AvgPool(const Window& w, const AvgDivisor& divisor);

  // With all threads. x: T[planes, *w.in]; y: T[planes, *w.out].
  void Run(const T* x, T* y, Size planes) const;

 private:
  Window w_;
  FoldedRow row_;
  // How many taps count at each place of an axis; the divisor is the product.
  std::vector<T> depth_, height_, width_;
  Range even_;  // the longest run of equal counts along a row
};

}  // namespace headrace::cpu
