// What follows a sum before it is stored, on vectors; see `Epilogue` in gemm.h.
#pragma once

#include "kernels/machine/simd.h"
#include "kernels/products/gemm.h"

namespace headrace::cpu::HEADRACE_ISA {

// Calls `f` with the activation of an epilogue, a function of a V: one loop for each, and not one
// choice for each number.
template <class F>
HEADRACE_INLINE void WithActivation(const Epilogue& epilogue, F f) {
  const V alpha = Broadcast(epilogue.alpha), beta = Broadcast(epilogue.beta);
  const V zero = Broadcast(0), one = Broadcast(1);
  const auto line = [=](V x) HEADRACE_INLINE_LAMBDA {
    return AtMost(AtLeast(MulAdd(alpha, x, beta), zero), one);
  };
  switch (epilogue.activation) {
    case Activation::kNone:
      return f([](V x) HEADRACE_INLINE_LAMBDA { return x; });
    case Activation::kClamp:
      return f([=](V x) HEADRACE_INLINE_LAMBDA { return AtMost(AtLeast(x, alpha), beta); });
    case Activation::kLeaky:
      return f([=](V x) HEADRACE_INLINE_LAMBDA { return Select(x < zero, alpha * x, x); });
    case Activation::kSigmoid:
      return f([](V x) HEADRACE_INLINE_LAMBDA { return Sigmoid(x); });
    case Activation::kSilu:
      return f([](V x) HEADRACE_INLINE_LAMBDA { return x * Sigmoid(x); });
    case Activation::kHardSigmoid:
      return f(line);
    case Activation::kHardSwish:
      return f([=](V x) HEADRACE_INLINE_LAMBDA { return x * line(x); });
  }
}

}  // namespace headrace::cpu::HEADRACE_ISA
