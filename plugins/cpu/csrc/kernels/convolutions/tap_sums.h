// Sums over the taps of a window, along a row of planes.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// Taps summed in one pass over the sums: as many pointers and weights as stay in registers, and all
// of a 3x3 kernel.
constexpr int kMostTaps = 9;

template <class T>
struct TapSums {
  // sum[i] = (first ? bias : sum[i]) + weights[t] * from[offsets[t] + i], over 1 to kMostTaps taps.
  void (*add)(const T* from, const Size* offsets, const T* weights, Size taps, bool first, T bias,
              T* sum, Size count);
};
struct TapSumTable : TapSums<float>, TapSums<double> {};
HEADRACE_TABLE(TapSumTable, TapSumLoops)

}  // namespace headrace::cpu
