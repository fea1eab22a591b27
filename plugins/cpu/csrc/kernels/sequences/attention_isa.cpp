#include "kernels/machine/sizes.h"
#include "kernels/machine/vmath.h"
#include "kernels/sequences/attention.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// The row, scaled and masked, and its largest number, or NaN.
HEADRACE_INLINE float Score(float* row, Size length, float scale, const float* mask) {
  const V factor = Broadcast(scale);
  V most = Broadcast(-__builtin_inff());
  for (Size i = 0; i < length; i += kWidth) {
    const int count = VectorCount(length - i);
    V v = Load(row + i) * factor;
    if (mask != nullptr) v = v + LoadSome(mask + i, count);
    if (count < kWidth) {  // what lies behind the row counts for nothing
      float lanes[kWidth];
      Store(lanes, v);
      for (int k = count; k < kWidth; ++k) lanes[k] = -__builtin_inff();
      v = Load(lanes);
    }
    Store(row + i, v);
    most = MaxOrNan(most, v);
  }
  return Largest(most);
}

void Softmax(float* rows, Size count, Size length, Size stride, float scale, const float* mask,
             Size mask_step, bool nan_is_zero, float sink) {
  for (Size r = 0; r < count; ++r, rows += stride) {
    V most = Broadcast(Score(rows, length, scale, mask));
    if (sink != kNoScore) most = NanOr(most, AtLeast(most, Broadcast(sink)));
    V sum = Broadcast(0.0f);
    for (Size i = 0; i < length; i += kWidth) {
      const V grown = ShrinkingExp(Load(rows + i) - most);
      sum = sum + grown;
      Store(rows + i, grown);
    }
    float all = Sum(sum);
    if (sink != kNoScore) all += Largest(ShrinkingExp(Broadcast(sink) - most));
    const V share = Broadcast(1.0f / all);
    if (all != all && nan_is_zero) {
      for (Size i = 0; i < length; i += kWidth) Store(rows + i, Broadcast(0.0f));
    } else {
      for (Size i = 0; i < length; i += kWidth) Store(rows + i, Load(rows + i) * share);
    }
    if (mask != nullptr) mask += mask_step;
  }
}

void Bend(float* row, Size length, float scale, float cap) {
  for (Size i = 0; i < length; i += kWidth) {
    Store(row + i, Tanh(Load(row + i) * Broadcast(scale)) * Broadcast(cap));
  }
}

// kRows rows of a at a time: each row of b is read once for them.
template <int kRows>
void DotsOf(const float* a, Size a_step, const StridedRows& b, Size length, float* y, Size y_step) {
  const float* row = b.first;
  for (Size j = 0; j < b.count; ++j, row += b.step) {
    V sums[kRows];
    for (int r = 0; r < kRows; ++r) sums[r] = Broadcast(0.0f);
    Size i = 0;
    for (; i + kWidth <= length; i += kWidth) {
      const V v = Load(row + i);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sums[r] = MulAdd(Load(a + r * a_step + i), v, sums[r]);
    }
    if (i < length) {
      const int count = static_cast<int>(length - i);
      const V v = LoadFirst(row + i, count);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        sums[r] = MulAdd(LoadFirst(a + r * a_step + i, count), v, sums[r]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) y[r * y_step + j] = Sum(sums[r]);
  }
}

// kVectors of columns, the last of which has `last` of them.
template <int kRows, int kVectors>
void WeighColumns(const float* a, Size a_step, const StridedRows& b, Size column, int last,
                  float* y, Size y_step) {
  V sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kVectors; ++c) sums[r][c] = Broadcast(0.0f);
  }
  const float* row = b.first + column;
  for (Size j = 0; j < b.count; ++j, row += b.step) {
    V v[kVectors];
#pragma GCC unroll 4
    for (int c = 0; c + 1 < kVectors; ++c) v[c] = Load(row + c * kWidth);
    v[kVectors - 1] = LoadFirst(row + (kVectors - 1) * kWidth, last);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const V weight = Broadcast(a[r * a_step + j]);
#pragma GCC unroll 4
      for (int c = 0; c < kVectors; ++c) sums[r][c] = MulAdd(weight, v[c], sums[r][c]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    float* to = y + r * y_step + column;
    for (int c = 0; c + 1 < kVectors; ++c) Store(to + c * kWidth, sums[r][c]);
    StoreFirst(to + (kVectors - 1) * kWidth, sums[r][kVectors - 1], last);
  }
}

template <int kRows>
void WeighOf(const float* a, Size a_step, const StridedRows& b, Size columns, float* y,
             Size y_step) {
  for (Size column = 0; column < columns; column += 4 * kWidth) {
    const Size left = columns - column;
    const int vectors = left >= 4 * kWidth ? 4 : static_cast<int>(CeilDiv(left, kWidth));
    const int last = left >= 4 * kWidth ? kWidth : static_cast<int>(left - (vectors - 1) * kWidth);
    if (vectors == 4) WeighColumns<kRows, 4>(a, a_step, b, column, last, y, y_step);
    if (vectors == 3) WeighColumns<kRows, 3>(a, a_step, b, column, last, y, y_step);
    if (vectors == 2) WeighColumns<kRows, 2>(a, a_step, b, column, last, y, y_step);
    if (vectors == 1) WeighColumns<kRows, 1>(a, a_step, b, column, last, y, y_step);
  }
}

void Dots(const StridedRows& a, const StridedRows& b, Size length, float* y, Size y_step) {
  Size r = 0;
  for (; r + 4 <= a.count; r += 4) {
    DotsOf<4>(a.first + r * a.step, a.step, b, length, y + r * y_step, y_step);
  }
  for (; r < a.count; ++r) {
    DotsOf<1>(a.first + r * a.step, a.step, b, length, y + r * y_step, y_step);
  }
}

void Weigh(const StridedRows& a, const StridedRows& b, Size columns, float* y, Size y_step) {
  Size r = 0;
  for (; r + 4 <= a.count; r += 4) {
    WeighOf<4>(a.first + r * a.step, a.step, b, columns, y + r * y_step, y_step);
  }
  for (; r < a.count; ++r) {
    WeighOf<1>(a.first + r * a.step, a.step, b, columns, y + r * y_step, y_step);
  }
}

}  // namespace

extern const AttentionTable kAttentionRows = {Softmax, Bend, Dots, Weigh};

}  // namespace headrace::cpu::HEADRACE_ISA
