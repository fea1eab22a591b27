// Products of few rows by a matrix as it lies: it is read once, which packing it would be already.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// y = a b; a: [rows, depth], y: [rows, columns], b: [depth, columns], or [columns, depth] if
// transposed; all lie row by row. With all threads; each number is summed in one order.
void MultiplyFewRows(const float* a, const float* b, float* y, Size rows, Size depth, Size columns,
                     bool transposed);

struct FewRowTable {
  // The columns from b and y on, `count` of them, of all `columns`.
  void (*plain)(const float* a, const float* b, float* y, Size rows, Size depth, Size columns,
                Size count);
  // Columns that are rows of b.
  void (*transposed)(const float* a, const float* b, float* y, Size rows, Size depth, Size columns,
                     Size count);
};
HEADRACE_TABLE(FewRowTable, FewRowKernels)

}  // namespace headrace::cpu
