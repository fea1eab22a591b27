#include "kernels/elementwise/where.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// By all bits or none, so that no compiler makes a jump of it, which nobody foresees.
template <Size kAStep, Size kBStep, class T>
HEADRACE_INLINE void Choose(const std::uint8_t* condition, const T* a, const T* b, T* y,
                            Size count) {
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < count; ++i) {
    const T left = a[i * kAStep], right = b[i * kBStep];
    const T bits = static_cast<T>(-static_cast<T>(condition[i] != 0));
    y[i] = static_cast<T>(right ^ ((left ^ right) & bits));
  }
}

template <class T>
HEADRACE_INLINE void Take(const T* x, Size step, T* y, Size count) {
  if (step == 0) {
    const T only = *x;
    for (Size i = 0; i < count; ++i) y[i] = only;
  } else {
    HEADRACE_NO_ALIAS_LOOP
    for (Size i = 0; i < count; ++i) y[i] = x[i];
  }
}

template <class T>
void Where(const bool* condition, const char* a, const char* b, char* y, Size count,
           const WhereSteps& steps) {
  const T *left = reinterpret_cast<const T*>(a), *right = reinterpret_cast<const T*>(b);
  const auto* chosen = reinterpret_cast<const std::uint8_t*>(condition);  // a bool may be any byte
  T* const to = reinterpret_cast<T*>(y);
  if (steps.condition == 0) {
    return *chosen != 0 ? Take(left, steps.a, to, count) : Take(right, steps.b, to, count);
  }
  if (steps.a == 0) {
    return steps.b == 0 ? Choose<0, 0>(chosen, left, right, to, count)
                        : Choose<0, 1>(chosen, left, right, to, count);
  }
  return steps.b == 0 ? Choose<1, 0>(chosen, left, right, to, count)
                      : Choose<1, 1>(chosen, left, right, to, count);
}

WhereLoop LoopOf(Size item) {
  switch (item) {
    case 1:
      return Where<std::uint8_t>;
    case 2:
      return Where<std::uint16_t>;
    case 4:
      return Where<std::uint32_t>;
    case 8:
      return Where<std::uint64_t>;
    default:
      return nullptr;
  }
}

}  // namespace

extern const WhereTable kWheres = {LoopOf};

}  // namespace headrace::cpu::HEADRACE_ISA
