#include "row_folds.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// A constant step lets the compiler load and shuffle.
template <class T, class F>
HEADRACE_INLINE void FoldRow(T* to, const T* from, Size step, Size count, F fold) {
  if (step == 1) {
    HEADRACE_NO_ALIAS_LOOP
    for (Size i = 0; i < count; ++i) to[i] = fold(to[i], from[i]);
  } else if (step == 2) {
    HEADRACE_NO_ALIAS_LOOP
    for (Size i = 0; i < count; ++i) to[i] = fold(to[i], from[2 * i]);
  } else {
    for (Size i = 0; i < count; ++i) to[i] = fold(to[i], from[step * i]);
  }
}

template <class T>
void Total(T* to, const T* from, Size step, Size count) {
  FoldRow(to, from, step, count, [](T sum, T value) { return sum + value; });
}

// `value != value` is how NaN is spelt for a type that may be an integer; `|` and not `||` because
// a branch would keep the loop scalar.
template <class T>
void Largest(T* to, const T* from, Size step, Size count) {
  FoldRow(to, from, step, count,
          [](T best, T value) { return (value > best) | (value != value) ? value : best; });
}

}  // namespace

extern const RowFoldTable kRowFolds = {{Total<float>},          {Total<double>},
                                       {Largest<float>},        {Largest<double>},
                                       {Largest<std::int8_t>},  {Largest<std::uint8_t>},
                                       {Largest<std::int32_t>}, {Largest<std::int64_t>}};

}  // namespace headrace::cpu::HEADRACE_ISA
