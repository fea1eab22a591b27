// Largest element of each window, and where it was found.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/windows/fold_windows.h"

namespace headrace::cpu {

enum class IndexOrder { kRowMajor, kColumnMajor };

// Padding never wins and NaN always does. A window that stands on padding alone gives the lowest
// value of T, which is a float or a signed or unsigned integer that row_folds.h has.
template <class T>
class MaxPool {
 public:
  explicit MaxPool(const Window& w);

  // With all threads. x: T[planes, *w.in]; y: T[planes, *w.out].
  void Run(const T* x, T* y, Size planes) const;

  // indices: int64[planes, *w.out]. The first winner in row-major order, as a flat index into all
  // of x; kColumnMajor counts the spatial axes of a plane with the first one fastest. A window
  // without a real element gives -1.
  void Run(const T* x, T* y, std::int64_t* indices, IndexOrder order, Size planes) const;

 private:
  void RunPlanes(const T* x, T* y, std::int64_t* indices, IndexOrder order, Size begin,
                 Size end) const;

  Window w_;
  FoldedRow row_;
  std::vector<Range> widths_;  // the taps along the row that are inside
};

}  // namespace headrace::cpu
