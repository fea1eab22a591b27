#include "kernels/rows/cumulative.h"

#include <algorithm>
#include <cstdint>

#include "kernels/machine/combine.h"
#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Columns that a thread walks down together, and elements that are worth a part of their own.
constexpr Size kColumns = 256, kPart = 1 << 14;

// `count` columns of rows that are `step` apart, walked from `x` on.
template <class F, class T>
void Columns(F combine, T nothing, const T* x, T* y, Size length, Size step, Size count,
             bool is_exclusive) {
  if (count == 1) {
    T total = nothing;
    for (Size k = 0; k < length; ++k, x += step, y += step) {
      const T following = combine(total, *x);
      *y = is_exclusive ? total : following;
      total = following;
    }
    return;
  }
  if (length == 0) return;
  for (Size i = 0; i < count; ++i) y[i] = is_exclusive ? nothing : x[i];
  for (Size k = 1; k < length; ++k) {
    const T* own = x + (is_exclusive ? k - 1 : k) * step;
    const T* before = y + (k - 1) * step;
    T* to = y + k * step;
    // What is written was read already, or is read at the same place.
    HEADRACE_NO_ALIAS_LOOP
    for (Size i = 0; i < count; ++i) to[i] = combine(before[i], own[i]);
  }
}

}  // namespace

template <class T>
void Cumulate(Running running, const T* x, T* y, Size outer, Size length, Size inner,
              bool is_exclusive, bool is_reverse) {
  const Size blocks = CeilDiv(inner, kColumns);
  const Size elements = length * std::min(inner, kColumns);
  const Size first = is_reverse ? std::max<Size>(0, length - 1) * inner : 0;
  const Size step = is_reverse ? -inner : inner;
  ParallelFor(outer * blocks, GrainOf(kPart, elements), [&](Size begin, Size end) {
    for (Size part = begin; part < end; ++part) {
      const Size column = part % blocks * kColumns;
      const Size at = part / blocks * length * inner + first + column;
      const Size count = std::min(kColumns, inner - column);
      if (running == Running::kSum) {
        Columns(Add(), T{0}, x + at, y + at, length, step, count, is_exclusive);
      } else {
        Columns(Multiply(), T{1}, x + at, y + at, length, step, count, is_exclusive);
      }
    }
  });
}

template void Cumulate(Running, const float*, float*, Size, Size, Size, bool, bool);
template void Cumulate(Running, const double*, double*, Size, Size, Size, bool, bool);
template void Cumulate(Running, const std::int32_t*, std::int32_t*, Size, Size, Size, bool, bool);
template void Cumulate(Running, const std::int64_t*, std::int64_t*, Size, Size, Size, bool, bool);

}  // namespace headrace::cpu
