#include "kernels/machine/combine.h"
#include "kernels/rows/folds.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// Independent numbers, so that the loop is vectorised; see norm_rows_isa.cpp.
constexpr Size kLanes = 32;

template <class T, class F>
HEADRACE_INLINE T FoldRow(const T* x, Size length, F f) {
  if (length < 2 * kLanes) {
    T folded = x[0];
    for (Size i = 1; i < length; ++i) folded = f(folded, x[i]);
    return folded;
  }
  T lanes[kLanes];
  for (Size k = 0; k < kLanes; ++k) lanes[k] = x[k];
  Size i = kLanes;
  for (; i + kLanes <= length; i += kLanes) {
    for (Size k = 0; k < kLanes; ++k) lanes[k] = f(lanes[k], x[i + k]);
  }
  for (Size k = 0; i + k < length; ++k) lanes[k] = f(lanes[k], x[i + k]);
  for (Size half = kLanes / 2; half > 0; half /= 2) {
    for (Size k = 0; k < half; ++k) lanes[k] = f(lanes[k], lanes[k + half]);
  }
  return lanes[0];
}

template <class T, class F>
HEADRACE_INLINE void FoldBy(const T* x, T* y, Size length, Size inner, Size columns, F f) {
  if (inner == 1) {
    *y = FoldRow(x, length, f);
    return;
  }
  for (Size i = 0; i < columns; ++i) y[i] = x[i];
  for (Size row = 1; row < length; ++row) {
    const T* next = x + row * inner;
    HEADRACE_NO_ALIAS_LOOP
    for (Size i = 0; i < columns; ++i) y[i] = f(y[i], next[i]);
  }
}

template <class T>
void FoldColumns(Fold fold, const T* x, T* y, Size length, Size inner, Size columns) {
  switch (fold) {
    case Fold::kSum:
    case Fold::kMean:
      FoldBy(x, y, length, inner, columns, Add{});
      break;
    case Fold::kMax:
      return FoldBy(x, y, length, inner, columns, Maximum{});
    case Fold::kMin:
      return FoldBy(x, y, length, inner, columns, Minimum{});
    case Fold::kProduct:
      return FoldBy(x, y, length, inner, columns, Multiply{});
  }
  if (fold == Fold::kMean) {
    for (Size i = 0; i < columns; ++i) y[i] = y[i] / static_cast<T>(length);
  }
}

}  // namespace

extern const AxisFoldTable kAxisFoldLoops = {
    {FoldColumns<float>},        {FoldColumns<double>},      {FoldColumns<std::int32_t>},
    {FoldColumns<std::int64_t>}, {FoldColumns<std::int8_t>}, {FoldColumns<std::uint8_t>}};

}  // namespace headrace::cpu::HEADRACE_ISA
