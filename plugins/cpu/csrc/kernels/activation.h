// What follows a sum before it is stored, on vectors; see `Epilogue` in gemm.h.
#pragma once

#include "gemm.h"
#include "simd.h"

namespace headrace::cpu::HEADRACE_ISA {

// `count` floats, or all of a V where there are as many.
HEADRACE_INLINE V LoadSome(const float* p, int columns) {
  return columns >= kPanel ? Load(p) : LoadFirst(p, columns);
}

HEADRACE_INLINE void StoreSome(float* p, V v, int columns) {
  if (columns >= kPanel) {
    Store(p, v);
  } else {
    StoreFirst(p, v, columns);
  }
}

HEADRACE_INLINE V Activate(V x, Activation activation, V alpha, V beta) {
  const V zero = Broadcast(0), one = Broadcast(1);
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kClamp:
      return AtMost(AtLeast(x, alpha), beta);
    case Activation::kLeaky:
      return Select(x < zero, alpha * x, x);
    case Activation::kSigmoid:
      return Sigmoid(x);
    case Activation::kSilu:
      return x * Sigmoid(x);
    case Activation::kHardSigmoid:
      return AtMost(AtLeast(MulAdd(alpha, x, beta), zero), one);
    case Activation::kHardSwish:
      return x * AtMost(AtLeast(MulAdd(alpha, x, beta), zero), one);
  }
  return x;
}

}  // namespace headrace::cpu::HEADRACE_ISA
