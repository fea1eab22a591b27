// Reductions of one axis, of numbers of several types. Rows of float32 are rows.h's, and columns of
// float32 that are summed or compared are those of windows/row_folds.h: they take more care there.
#pragma once

#include <cstdint>

#include "kernels/machine/isa.h"
#include "kernels/rows/rows.h"

namespace headrace::cpu {

// y[o, i] = x[o, 0, i], x[o, 1, i], ... in one number; x: T[outer, length, inner], length at
// least 1. T: float, double, std::int32_t, std::int64_t, std::int8_t or std::uint8_t. Integers wrap
// around, and have no mean; a NaN is the largest and the smallest. With all threads.
template <class T>
void FoldAxis(Fold fold, const T* x, T* y, Size outer, Size length, Size inner);

template <class T>
struct AxisFolds {
  // The same of one outer part, for `columns` of its inner ones.
  void (*fold)(Fold fold, const T* x, T* y, Size length, Size inner, Size columns);
};
struct AxisFoldTable : AxisFolds<float>,
                       AxisFolds<double>,
                       AxisFolds<std::int32_t>,
                       AxisFolds<std::int64_t>,
                       AxisFolds<std::int8_t>,
                       AxisFolds<std::uint8_t> {};
HEADRACE_TABLE(AxisFoldTable, AxisFoldLoops)

}  // namespace headrace::cpu
