// Rows folded into rows: what pools over planes spend their time on.
#pragma once

#include "isa.h"

namespace headrace::cpu {

// to[i] = fold(to[i], from[i * step]) for `count` elements; the rows do not overlap.
template <class T>
using RowFold = void (*)(T* to, const T* from, Size step, Size count);

template <class T>
struct Totals {
  RowFold<T> total;
};
// NaN is the largest.
template <class T>
struct Maxima {
  RowFold<T> largest;
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
