// Rows folded into one: what pools over planes spend their time on.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

struct FoldShape {
  const Size* offsets;  // where the rows begin
  Size rows, count;     // at least one row, of so many elements
  Size lines;           // how often rows are folded: `to` and `from` go on by these steps each time
  Size to_step, from_step;
};
// to[i] = fold over k < rows of from[offsets[k] + i], in this order; no row overlaps with `to`.
template <class T>
using RowFold = void (*)(T* to, const T* from, const FoldShape& shape);

template <class T>
struct Totals {
  RowFold<T> total;
  void (*divide)(T* x, T by, Size count);
};
// Of any elements.
template <class T>
struct RowsOf {
  RowFold<T> largest;  // NaN is the largest
  // Elements of pairs: all the first, then all the second. No overlap.
  void (*split)(const T* from, T* to, Size pairs);
};
struct RowFoldTable : Totals<float>,
                      Totals<double>,
                      RowsOf<float>,
                      RowsOf<double>,
                      RowsOf<std::int8_t>,
                      RowsOf<std::uint8_t>,
                      RowsOf<std::int32_t>,
                      RowsOf<std::int64_t> {};
HEADRACE_TABLE(RowFoldTable, RowFolds)

}  // namespace headrace::cpu
