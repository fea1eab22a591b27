// What interpolation needs of the instruction set.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// What elements of a dtype are summed in.
template <class X>
struct SumType {
  using Type = double;
};
template <>
struct SumType<float> {
  using Type = float;
};
template <class X>
using SumOf = typename SumType<X>::Type;

// Where sums along an axis are read and written: `lines` of them, each of `width` numbers that lie
// together, `y_step` from each other in y.
struct ResampledLines {
  Size first;   // the element of the axis with which x begins
  Size x_step;  // from one element of the axis to the next
  Size y_step;
  Size lines, width, taps;
  const std::int32_t* sources;  // [lines, taps]
};

// y[i * y_step + j] = sum over k of weights[i][k] * x[(sources[i][k] - first) * x_step + j].
template <class X, class Y>
struct Resampled {
  void (*run)(const ResampledLines& lines, const SumOf<X>* weights, const X* x, Y* y);
};

// PAIR(x, y) for each pair of dtypes that is summed in doubles: integers begin and end with them.
#define HEADRACE_RESAMPLED_IN_DOUBLES(PAIR) \
  PAIR(double, double)                      \
  PAIR(std::int8_t, double)                 \
  PAIR(double, std::int8_t)                 \
  PAIR(std::int8_t, std::int8_t)            \
  PAIR(std::uint8_t, double)                \
  PAIR(double, std::uint8_t)                \
  PAIR(std::uint8_t, std::uint8_t)          \
  PAIR(std::int32_t, double)                \
  PAIR(double, std::int32_t)                \
  PAIR(std::int32_t, std::int32_t)

#define HEADRACE_RESAMPLED(X, Y) , Resampled<X, Y>
struct ResampleTable : Resampled<float, float> HEADRACE_RESAMPLED_IN_DOUBLES(HEADRACE_RESAMPLED) {};
#undef HEADRACE_RESAMPLED
HEADRACE_TABLE(ResampleTable, Resamples)

}  // namespace headrace::cpu
