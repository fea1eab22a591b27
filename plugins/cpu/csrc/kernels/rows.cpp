#include "rows.h"

#include <algorithm>

#include "thread_pool.h"

namespace headrace::cpu {
namespace {

// Numbers that are worth a part of their own.
constexpr Size kPartFloats = 1 << 14;

Size Grain(Size length) { return std::max<Size>(1, kPartFloats / std::max<Size>(1, length)); }

}  // namespace

void SoftmaxRows(const float* x, float* y, Size rows, Size length) {
  ParallelFor(rows, Grain(length), [=](Size begin, Size end) {
    RowKernels().softmax(x + begin * length, y + begin * length, end - begin, length);
  });
}

void LayerNormRows(const float* x, const float* scale, const float* bias, float* y, Size rows,
                   Size length, double epsilon) {
  ParallelFor(rows, Grain(length), [=](Size begin, Size end) {
    RowKernels().layer_norm(x + begin * length, scale, bias, y + begin * length, end - begin,
                            length, epsilon);
  });
}

void FoldEachRow(Fold fold, const float* x, float* y, Size rows, Size length) {
  ParallelFor(rows, Grain(length), [=](Size begin, Size end) {
    RowKernels().fold(fold, x + begin * length, y + begin, end - begin, length);
  });
}

}  // namespace headrace::cpu
