#include "kernels/machine/simd.h"
#include "kernels/windows/row_folds.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

struct Added {
  template <class T>
  static HEADRACE_INLINE T Fold(T sum, T x) {
    return sum + x;
  }
};

// `x != x` is how NaN is spelt for a type that may be an integer.
struct Highest {
  template <class T>
  static HEADRACE_INLINE T Fold(T best, T x) {
    const T most = x > best ? x : best;
    return x != x ? x : most;
  }
};

// kCount registers of kBytes: elements from `i` on of all rows.
template <class Op, class T, int kBytes, int kCount>
HEADRACE_INLINE void FoldAt(Size i, T* to, const T* from, const Size* offsets, Size rows) {
  typedef T Register __attribute__((vector_size(kBytes)));
  constexpr Size kEach = kBytes / sizeof(T);
  const auto load = [&](Size k, int r) HEADRACE_INLINE_LAMBDA {
    Register x;
    std::memcpy(&x, from + offsets[k] + i + r * kEach, kBytes);
    return x;
  };
  Register made[kCount];
#pragma GCC unroll 4
  for (int r = 0; r < kCount; ++r) made[r] = load(0, r);
  for (Size k = 1; k < rows; ++k) {
#pragma GCC unroll 4
    for (int r = 0; r < kCount; ++r) made[r] = Op::Fold(made[r], load(k, r));
  }
#pragma GCC unroll 4
  for (int r = 0; r < kCount; ++r) std::memcpy(to + i + r * kEach, &made[r], kBytes);
}

// What is too short for a register goes by smaller ones; else the last one may lie over the one
// before it.
template <class Op, class T, int kBytes>
HEADRACE_INLINE void FoldRow(T* to, const T* from, const Size* offsets, Size rows, Size count) {
  constexpr Size kEach = kBytes / sizeof(T);
  if constexpr (kEach == 1) {
    for (Size i = 0; i < count; ++i) {
      T made = from[offsets[0] + i];
      for (Size k = 1; k < rows; ++k) made = Op::Fold(made, from[offsets[k] + i]);
      to[i] = made;
    }
  } else {
    if (count < kEach) return FoldRow<Op, T, kBytes / 2>(to, from, offsets, rows, count);
    Size i = 0;
    for (; i + 4 * kEach <= count; i += 4 * kEach) {
      FoldAt<Op, T, kBytes, 4>(i, to, from, offsets, rows);
    }
    for (; i + kEach <= count; i += kEach) FoldAt<Op, T, kBytes, 1>(i, to, from, offsets, rows);
    if (i < count) FoldAt<Op, T, kBytes, 1>(count - kEach, to, from, offsets, rows);
  }
}

template <class Op, class T>
void Run(T* to, const T* from, const FoldShape& shape) {
  for (Size line = 0; line < shape.lines; ++line, to += shape.to_step, from += shape.from_step) {
    FoldRow<Op, T, kLanes * 4>(to, from, shape.offsets, shape.rows, shape.count);
  }
}

template <class T>
void Split(const T* from, T* to, Size pairs) {
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < pairs; ++i) {
    to[i] = from[2 * i];
    to[pairs + i] = from[2 * i + 1];
  }
}

template <class T>
void Divide(T* x, T by, Size count) {
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < count; ++i) x[i] /= by;
}

template <class T>
constexpr Totals<T> kTotals = {Run<Added, T>, Divide<T>};

template <class T>
constexpr RowsOf<T> kRowsOf = {Run<Highest, T>, Split<T>};

}  // namespace

extern const RowFoldTable kRowFolds = {
    kTotals<float>,       kTotals<double>,       kRowsOf<float>,        kRowsOf<double>,
    kRowsOf<std::int8_t>, kRowsOf<std::uint8_t>, kRowsOf<std::int32_t>, kRowsOf<std::int64_t>};

}  // namespace headrace::cpu::HEADRACE_ISA
