#include "kernels/rows/rows.h"

#include <algorithm>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Numbers that are worth a part of their own.
constexpr Size kPartFloats = 1 << 14;

// Columns of a vector, on every machine.
constexpr Size kStrip = 16;

}  // namespace

void SoftmaxRows(const float* x, float* y, Size rows, Size length, bool logarithm) {
  ParallelFor(rows, GrainOf(kPartFloats, length), [=](Size begin, Size end) {
    RowKernels().softmax(x + begin * length, y + begin * length, end - begin, length, logarithm);
  });
}

void SoftmaxColumns(const float* x, float* y, Size matrices, Size length, Size columns,
                    bool logarithm) {
  const Size strips = CeilDiv(columns, kStrip);
  ParallelFor(matrices * strips, GrainOf(kPartFloats, length * kStrip), [=](Size begin, Size end) {
    for (Size part = begin; part < end; ++part) {
      const Size first = part % strips * kStrip;
      const Size place = part / strips * length * columns + first;
      const Size count = std::min(kStrip, columns - first);
      RowKernels().softmax_down(x + place, y + place, length, columns, static_cast<int>(count),
                                logarithm);
    }
  });
}

void LayerNormRows(const float* x, const float* scale, const float* bias, float* y, Size rows,
                   Size length, double epsilon) {
  ParallelFor(rows, GrainOf(kPartFloats, length), [=](Size begin, Size end) {
    RowKernels().layer_norm(x + begin * length, scale, bias, y + begin * length, end - begin,
                            length, epsilon);
  });
}

void FoldEachRow(Fold fold, const float* x, float* y, Size rows, Size length) {
  ParallelFor(rows, GrainOf(kPartFloats, length), [=](Size begin, Size end) {
    RowKernels().fold(fold, x + begin * length, y + begin, end - begin, length);
  });
}

}  // namespace headrace::cpu
