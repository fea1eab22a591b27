// Reduce every window of every plane with one associative operation.
#pragma once

#include <algorithm>
#include <vector>

#include "row_folds.h"
#include "thread_pool.h"
#include "window.h"

namespace headrace::cpu {

// Elements of x that are worth a part of their own.
inline Size PlanesAtOnce(const Window& w) {
  return std::max<Size>(1, (1 << 15) / std::max<Size>(1, w.InCount()));
}

// The windows of one plane; `column` has room for a row of it, and `outputs` says which windows
// have each tap of a row.
template <class T, class Finish>
void FoldPlane(const T* x, T* y, const Window& w, const std::vector<Range>& outputs, T* column,
               T initial, RowFold<T> fold, Finish finish) {
  const Size in_width = w.in[2];
  for (Size od = 0; od < w.out[0]; ++od) {
    const Range depth = TapsInside(w, 0, od);
    for (Size oh = 0; oh < w.out[1]; ++oh, y += w.out[2]) {
      const Range height = TapsInside(w, 1, oh);
      std::fill_n(column, in_width, initial);
      for (Size kd = depth.begin; kd < depth.end; ++kd) {
        for (Size kh = height.begin; kh < height.end; ++kh) {
          const Size row = InputPosition(w, 0, od, kd) * w.in[1] + InputPosition(w, 1, oh, kh);
          fold(column, x + row * in_width, 1, in_width);
        }
      }
      std::fill_n(y, w.out[2], initial);
      for (Size kw = 0; kw < w.kernel[2]; ++kw) {
        const Range range = outputs[static_cast<std::size_t>(kw)];
        if (range.Count() == 0) continue;
        const T* from = column + InputPosition(w, 2, range.begin, kw);
        fold(y + range.begin, from, w.stride[2], range.Count());
      }
      finish(y, od, oh);
    }
  }
}

// With all threads. x: T[planes, *w.in]; y: T[planes, *w.out]. y = fold(... fold(initial, element)
// ...) over the real elements of each window; a window that stands on padding alone gives
// `initial`. finish(row, od, oh) is called once for each complete output row.
//
// The rows of a window are folded first, over the whole input width and without a stride, and the
// taps along the row after that. This keeps most of the work in long contiguous loops whatever the
// stride is; folding tap by tap would make all of it strided.
template <class T, class Finish>
void FoldWindows(const T* x, T* y, Size planes, const Window& w, T initial, RowFold<T> fold,
                 Finish finish) {
  const Size in_width = w.in[2], out_count = w.out[0] * w.out[1] * w.out[2];
  std::vector<Range> outputs;
  for (Size kw = 0; kw < w.kernel[2]; ++kw) outputs.push_back(OutputsInside(w, 2, kw));
  ParallelFor(planes, PlanesAtOnce(w), [&](Size begin, Size end) {
    T* const column =
        static_cast<T*>(ThreadScratch(static_cast<std::size_t>(in_width) * sizeof(T)));
    for (Size plane = begin; plane < end; ++plane) {
      FoldPlane(x + plane * w.InCount(), y + plane * out_count, w, outputs, column, initial, fold,
                finish);
    }
  });
}

}  // namespace headrace::cpu
