// Work on rows that lie one after another: softmax (of columns too), layer norm, reductions of the
// last axes.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

enum class Fold : int { kSum, kMean, kMax, kMin, kProduct };

// y = exp(x) / sum(exp(x)) of each row, or the logarithm of that. x and y may be the same array.
// With all threads.
void SoftmaxRows(const float* x, float* y, Size rows, Size length, bool logarithm);

// The same down the columns of matrices: x and y are [matrices, length, columns].
void SoftmaxColumns(const float* x, float* y, Size matrices, Size length, Size columns,
                    bool logarithm);

// Each row brought to mean 0 and deviation 1, times scale plus bias, [length] each or null. x and y
// may be the same array. Sums go on in double. With all threads.
void LayerNormRows(const float* x, const float* scale, const float* bias, float* y, Size rows,
                   Size length, double epsilon);

// One number for each row. With all threads.
void FoldEachRow(Fold fold, const float* x, float* y, Size rows, Size length);

struct RowTable {
  void (*softmax)(const float* x, float* y, Size rows, Size length, bool logarithm);
  // Down `count` columns, at most as many as a vector has.
  void (*softmax_down)(const float* x, float* y, Size length, Size stride, int count,
                       bool logarithm);
  void (*layer_norm)(const float* x, const float* scale, const float* bias, float* y, Size rows,
                     Size length, double epsilon);
  void (*fold)(Fold fold, const float* x, float* y, Size rows, Size length);
};
HEADRACE_TABLE(RowTable, RowKernels)

}  // namespace headrace::cpu
