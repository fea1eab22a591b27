// Reduce every window of every plane with one associative operation.
#pragma once

#include <vector>

#include "row_folds.h"
#include "window.h"

namespace headrace::cpu {

// x: T[planes, *w.in]; y: T[planes, *w.out]. y = fold(... fold(initial, element) ...) over the
// real elements of each window; a window that stands on padding alone gives `initial`.
// finish(row, od, oh) is called once for each complete output row.
//
// The rows of a window are folded first, over the whole input width and without a stride, and the
// taps along the row after that. This keeps most of the work in long contiguous loops whatever the
// stride is; folding tap by tap would make all of it strided.
template <class T, class Finish>
void FoldWindows(const T* x, T* y, Size planes, const Window& w, T initial, RowFold<T> fold,
                 Finish finish) {
  const Size in_width = w.in[2];
  std::vector<T> folded_rows(static_cast<std::size_t>(in_width));
  T* const column = folded_rows.data();
  std::vector<Range> outputs;
  for (Size kw = 0; kw < w.kernel[2]; ++kw) outputs.push_back(OutputsInside(w, 2, kw));

  for (Size plane = 0; plane < planes; ++plane, x += w.InCount()) {
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
}

}  // namespace headrace::cpu
