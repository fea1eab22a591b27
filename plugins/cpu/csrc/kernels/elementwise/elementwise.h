// Elementwise arithmetic of double and of integers, comparisons of these, and logic: one pass over
// memory, outputs of the inputs' type may be them. What is float is computed by programs, but for
// its remainders; see program.h.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// Elements of `item` bytes that are worth a part of their own: 256 kB take about 10 microseconds.
constexpr Size PartElements(Size item) { return (1 << 18) / item; }

// y[i] = f(x[i]) for `count` elements; what p and q are, the function says.
using UnaryLoop = void (*)(const double* x, double* y, Size count, double p, double q);

// y[i] = min(max(x[i], low), high) for `count` elements; NaN wins.
template <class T>
using ClipLoop = void (*)(const T* x, T low, T high, T* y, Size count);
template <class T>
struct Clips {
  ClipLoop<T> clip;
};

// y[i] = f(a[i * a_step], b[i * b_step]) for `count` elements; steps are 0 or 1.
template <class T, class Y = T>
using BinaryLoop = void (*)(const T* a, Size a_step, const T* b, Size b_step, Y* y, Size count);

// The loop of an op by the op's name; null when these types have none.
template <class T, class Y = T>
struct BinaryLoops {
  BinaryLoop<T, Y> (*binary)(const char* op);
};
struct ElementwiseTable : BinaryLoops<double>,
                          BinaryLoops<std::int32_t>,
                          BinaryLoops<std::int64_t>,
                          BinaryLoops<std::int8_t>,
                          BinaryLoops<std::uint8_t>,
                          BinaryLoops<float>,
                          BinaryLoops<double, bool>,
                          BinaryLoops<std::int32_t, bool>,
                          BinaryLoops<std::int64_t, bool>,
                          BinaryLoops<bool>,
                          Clips<double>,
                          Clips<std::int8_t>,
                          Clips<std::uint8_t>,
                          Clips<std::int32_t>,
                          Clips<std::int64_t> {
  UnaryLoop (*unary)(const char* op);
};
HEADRACE_TABLE(ElementwiseTable, Elementwise)

}  // namespace headrace::cpu
