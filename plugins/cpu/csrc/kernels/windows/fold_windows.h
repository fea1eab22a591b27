// Reduce every window of every plane with one associative operation.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/machine/thread_pool.h"
#include "kernels/moves/transpose.h"
#include "kernels/windows/row_folds.h"
#include "kernels/windows/window.h"

namespace headrace::cpu {

// Elements of x that are worth a part of their own.
inline Size PlanesAtOnce(const Window& w) {
  return std::max<Size>(1, (1 << 15) / std::max<Size>(1, w.InCount()));
}

// How a row of windows is folded: of the rows that they stand on, one is made, as long as they
// reach into the padding; its elements are sorted by their place within a stride, so that each tap
// reads elements that follow each other.
struct FoldedRow {
  Size length;  // of what is made of rows, a multiple of the stride
  Size phase;   // how many elements have the same place within a stride
  std::vector<Size> taps;

  explicit FoldedRow(const Window& w) {
    const Size stride = w.stride[2], reach = (w.kernel[2] - 1) * w.dilation[2] + 1;
    const Size read = std::max((w.out[2] - 1) * stride + reach, w.pad[2] + w.in[2]);
    phase = (read + stride - 1) / stride;
    length = phase * stride;
    for (Size k = 0; k < w.kernel[2]; ++k) {
      const Size at = k * w.dilation[2];
      taps.push_back(at % stride * phase + at / stride);
    }
  }
};

// Memory of a thread for one plane.
template <class T>
struct FoldScratch {
  Size* rows;  // where the rows of a window begin
  T* column;   // FoldedRow::length elements, `initial` in the padding
  T* phases;   // as many
};

// The elements of a row by their place within a stride: those of the first, then the next.
template <class T>
void SortByPhase(const T* from, T* to, Size stride, Size phase) {
  if (stride != 2) {
    constexpr Size kItem = sizeof(T);
    return Transpose(reinterpret_cast<const char*>(from), stride * kItem,
                     reinterpret_cast<char*>(to), phase * kItem, stride, phase, kItem);
  }
  // Nearly all strides are 2, and compilers have instructions for it.
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < phase; ++i) {
    to[i] = from[2 * i];
    to[phase + i] = from[2 * i + 1];
  }
}

// The windows of one plane.
template <class T, class Finish>
void FoldPlane(const T* x, T* y, const Window& w, const FoldedRow& row, FoldScratch<T> scratch,
               T initial, RowFold<T> fold, Finish finish) {
  const Size stride = w.stride[2];
  for (Size od = 0; od < w.out[0]; ++od) {
    const Range depth = TapsInside(w, 0, od);
    for (Size oh = 0; oh < w.out[1]; ++oh, y += w.out[2]) {
      const Range height = TapsInside(w, 1, oh);
      Size rows = 0;
      for (Size kd = depth.begin; kd < depth.end; ++kd) {
        for (Size kh = height.begin; kh < height.end; ++kh) {
          const Size at = InputPosition(w, 0, od, kd) * w.in[1] + InputPosition(w, 1, oh, kh);
          scratch.rows[rows++] = at * w.in[2];
        }
      }
      if (rows == 0) {
        std::fill_n(y, w.out[2], initial);
      } else {
        fold(scratch.column + w.pad[2], x, scratch.rows, rows, w.in[2]);
        if (stride > 1) SortByPhase(scratch.column, scratch.phases, stride, row.phase);
        fold(y, stride > 1 ? scratch.phases : scratch.column, row.taps.data(), w.kernel[2],
             w.out[2]);
      }
      finish(y, od, oh);
    }
  }
}

// With all threads. x: T[planes, *w.in]; y: T[planes, *w.out]; row: of w. y is what `fold` makes of
// the elements of each window, whose padding is `initial`; a window that stands on padding alone
// gives `initial`. finish(row, od, oh) is called once for each complete output row.
//
// The rows of a window are folded first, over the whole input width, and the taps along the row
// after that: taps of one row are read again and again, and rows but once for each that they lie
// in.
template <class T, class Finish>
void FoldWindows(const T* x, T* y, Size planes, const Window& w, const FoldedRow& row, T initial,
                 RowFold<T> fold, Finish finish) {
  if (planes == 0 || w.OutCount() == 0) return;
  const Size indices = w.kernel[0] * w.kernel[1];
  ParallelFor(planes, PlanesAtOnce(w), [&](Size begin, Size end) {
    void* const memory = ThreadScratch(static_cast<std::size_t>(indices) * sizeof(Size) +
                                       static_cast<std::size_t>(2 * row.length) * sizeof(T));
    FoldScratch<T> scratch{static_cast<Size*>(memory), nullptr, nullptr};
    scratch.column = reinterpret_cast<T*>(scratch.rows + indices);
    scratch.phases = scratch.column + row.length;
    std::fill_n(scratch.column, row.length, initial);
    for (Size plane = begin; plane < end; ++plane) {
      FoldPlane(x + plane * w.InCount(), y + plane * w.OutCount(), w, row, scratch, initial, fold,
                finish);
    }
  });
}

}  // namespace headrace::cpu
