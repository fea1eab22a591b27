// Rows folded into one: what pools over planes spend their time on.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// to[i] = fold over k < rows of from[offsets[k] + i], in this order, for `count` elements; there is
// at least one row, and none of them overlaps with `to`.
struct FoldShape {
  const Size* offsets;
  Size rows, count;
  Size lines, to_step, from_step;  // that is done so often, so far from the last time
};
template <class T>
using RowFold = void (*)(T* to, const T* from, const FoldShape& shape);

template <class T>
struct Totals {
  RowFold<T> total;
  void (*divide)(T* x, T by, Size count);
};
// NaN is the largest.
template <class T>
struct Maxima {
  RowFold<T> largest;
  // Elements of pairs: all the first, then all the second. No overlap.
  void (*split)(const T* from, T* to, Size pairs);
};
struct RowFoldTable : Totals<float>,
                      Totals<double>,
                      Maxima<float>,
                      Maxima<double>,
                      Maxima<std::int8_t>,
                      Maxima<std::uint8_t>,
                      Maxima<std::int32_t>,
                      Maxima<std::int64_t> {};
HEADRACE_TABLE(RowFoldTable, RowFolds)

}  // namespace headrace::cpu
