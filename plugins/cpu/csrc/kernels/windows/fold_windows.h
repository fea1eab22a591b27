// Reduce every window of every plane with one associative operation.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"
#include "kernels/moves/transpose.h"
#include "kernels/windows/row_folds.h"
#include "kernels/windows/window.h"

namespace headrace::cpu {

// Elements that rows are folded to before their taps are.
constexpr Size kFoldedElements = 2048;

// Elements of x that are worth a part of their own.
inline Size PlanesAtOnce(const Window& w) {
  return std::max<Size>(1, (1 << 15) / std::max<Size>(1, w.InCount()));
}

// How rows of windows are folded: of the rows that one of them stands on, one is made, as long as
// they reach into the padding; its elements are sorted by their place within a stride, so that each
// tap reads elements that follow each other.
struct FoldedRow {
  Size length;   // of what is made of rows, a multiple of the stride
  Size phase;    // how many elements have the same place within a stride
  Size at_once;  // rows that are made before their taps are folded: just made, they are waited for
  std::vector<Size> taps;
  std::vector<Range> heights;  // of each row of windows, the taps down the image that are inside

  explicit FoldedRow(const Window& w) {
    const Size stride = w.stride[2], reach = (w.kernel[2] - 1) * w.dilation[2] + 1;
    const Size read = std::max((w.out[2] - 1) * stride + reach, w.pad[2] + w.in[2]);
    phase = CeilDiv(read, stride);
    length = phase * stride;
    for (Size k = 0; k < w.kernel[2]; ++k) {
      const Size at = k * w.dilation[2];
      taps.push_back(at % stride * phase + at / stride);
    }
    at_once = std::clamp<Size>(kFoldedElements / std::max<Size>(1, length), 1, w.out[1]);
    for (Size oh = 0; oh < w.out[1]; ++oh) heights.push_back(TapsInside(w, 1, oh));
  }
};

// Memory of a thread for one plane.
template <class T>
struct FoldScratch {
  Size* rows;  // where the rows of a window begin
  T* columns;  // FoldedRow::length elements for each row at once, `initial` in the padding
  T* phases;   // as many
};

// The elements of a row by their place within a stride: those of the first, then the next.
template <class T>
void SortByPhase(const T* from, T* to, Size stride, Size phase) {
  const RowsOf<T>& rows = RowFolds();
  if (stride == 2) return rows.split(from, to, phase);  // nearly all are
  constexpr Size kItem = sizeof(T);
  Transpose(reinterpret_cast<const char*>(from), stride * kItem, reinterpret_cast<char*>(to),
            phase * kItem, stride, phase, kItem);
}

// What windows [begin, end) of an axis stand on, folded down the image: a row of each.
template <class T>
void FoldDown(const T* x, const Window& w, const FoldedRow& row, const FoldScratch<T>& scratch,
              const Range& depth, Size od, Size begin, Size end, T initial, RowFold<T> fold) {
  T* column = scratch.columns + w.pad[2];
  for (Size oh = begin, lines; oh < end; oh += lines, column += lines * row.length) {
    const auto height = [&](Size at) { return row.heights[static_cast<std::size_t>(at)]; };
    const Range taps = height(oh);
    lines = 1;  // those that follow each other stand on as many rows, a stride further down
    while (oh + lines < end && height(oh + lines) == taps) ++lines;
    Size rows = 0;
    for (Size kd = depth.begin; kd < depth.end; ++kd) {
      for (Size kh = taps.begin; kh < taps.end; ++kh) {
        const Size at = InputPosition(w, 0, od, kd) * w.in[1] + InputPosition(w, 1, oh, kh);
        scratch.rows[rows++] = at * w.in[2];
      }
    }
    if (rows == 0) {
      for (Size line = 0; line < lines; ++line) {
        std::fill_n(column + line * row.length, w.in[2], initial);
      }
    } else {
      fold(column, x, {scratch.rows, rows, w.in[2], lines, row.length, w.stride[1] * w.in[2]});
    }
  }
}

// The windows of one plane.
template <class T, class Finish>
void FoldPlane(const T* x, T* y, const Window& w, const FoldedRow& row, FoldScratch<T> scratch,
               T initial, RowFold<T> fold, Finish finish) {
  const Size stride = w.stride[2];
  const T* const sorted = stride > 1 ? scratch.phases : scratch.columns;
  for (Size od = 0; od < w.out[0]; ++od) {
    const Range depth = TapsInside(w, 0, od);
    for (Size begin = 0; begin < w.out[1]; begin += row.at_once) {
      const Size lines = std::min(row.at_once, w.out[1] - begin);
      FoldDown(x, w, row, scratch, depth, od, begin, begin + lines, initial, fold);
      for (Size line = 0; stride > 1 && line < lines; ++line) {
        SortByPhase(scratch.columns + line * row.length, scratch.phases + line * row.length, stride,
                    row.phase);
      }
      fold(y, sorted, {row.taps.data(), w.kernel[2], w.out[2], lines, w.out[2], row.length});
      for (Size line = 0; line < lines; ++line, y += w.out[2]) finish(y, od, begin + line);
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
    const Size elements = row.at_once * row.length;
    void* const memory = ThreadScratch(static_cast<std::size_t>(indices) * sizeof(Size) +
                                       static_cast<std::size_t>(2 * elements) * sizeof(T));
    FoldScratch<T> scratch{static_cast<Size*>(memory), nullptr, nullptr};
    scratch.columns = reinterpret_cast<T*>(scratch.rows + indices);
    scratch.phases = scratch.columns + elements;
    std::fill_n(scratch.columns, elements, initial);
    for (Size plane = begin; plane < end; ++plane) {
      FoldPlane(x + plane * w.InCount(), y + plane * w.OutCount(), w, row, scratch, initial, fold,
                finish);
    }
  });
}

}  // namespace headrace::cpu
