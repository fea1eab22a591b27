// Two numbers as one, of any type: integers wrap around, which the language allows for unsigned
// ones only; and a NaN is larger and smaller than every number, as numpy has it. All is inlined
// wherever it is used, so that each instruction set has its own; see isa.h.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// What numbers are added and multiplied as.
HEADRACE_INLINE float Wrapping(float x) { return x; }
HEADRACE_INLINE double Wrapping(double x) { return x; }
HEADRACE_INLINE std::uint32_t Wrapping(std::int8_t x) { return static_cast<std::uint32_t>(x); }
HEADRACE_INLINE std::uint32_t Wrapping(std::uint8_t x) { return x; }
HEADRACE_INLINE std::uint32_t Wrapping(std::int32_t x) { return static_cast<std::uint32_t>(x); }
HEADRACE_INLINE std::uint64_t Wrapping(std::int64_t x) { return static_cast<std::uint64_t>(x); }

struct Add {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return static_cast<T>(Wrapping(a) + Wrapping(b));
  }
};
struct Multiply {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return static_cast<T>(Wrapping(a) * Wrapping(b));
  }
};
struct Maximum {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct Minimum {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

}  // namespace headrace::cpu
