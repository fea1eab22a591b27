#include "kernels/convolutions/tap_sums.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

template <int kTaps, class T>
HEADRACE_INLINE void AddTaps(const T* from, const Size* offsets, const T* weights, bool first,
                             T bias, T* __restrict sum, Size count) {
  const T* tap[kTaps];
  T weight[kTaps];
  for (int t = 0; t < kTaps; ++t) {
    tap[t] = from + offsets[t];
    weight[t] = weights[t];
  }
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < count; ++i) {
    T total = first ? bias : sum[i];
    for (int t = 0; t < kTaps; ++t) total += weight[t] * tap[t][i];
    sum[i] = total;
  }
}

// Turns a run-time number of taps, 1 to kTaps, into a constant one.
template <int kTaps, class T>
HEADRACE_INLINE void AddTapGroup(Size taps, const T* from, const Size* offsets, const T* weights,
                                 bool first, T bias, T* sum, Size count) {
  if constexpr (kTaps > 0) {
    if (taps == kTaps) {
      AddTaps<kTaps>(from, offsets, weights, first, bias, sum, count);
    } else {
      AddTapGroup<kTaps - 1>(taps, from, offsets, weights, first, bias, sum, count);
    }
  }
}

template <class T>
void Add(const T* from, const Size* offsets, const T* weights, Size taps, bool first, T bias,
         T* sum, Size count) {
  AddTapGroup<kMostTaps>(taps, from, offsets, weights, first, bias, sum, count);
}

}  // namespace

extern const TapSumTable kTapSumLoops = {{Add<float>}, {Add<double>}};

}  // namespace headrace::cpu::HEADRACE_ISA
