// Depthwise convolutions over images whose channels are last, float32.
#pragma once

#include "kernels/machine/isa.h"
#include "kernels/products/gemm.h"

namespace headrace::cpu {

// x [n, in[0], in[1], channels], y [n, out[0], out[1], channels]: every channel by itself.
// Tap k of output o reads input o * stride + k * dilation - pad on each axis, or 0 beyond it.
struct DepthwiseLast {
  Size n, channels;
  Size in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
  const float* x;
  const float* taps;  // [kernel[0] * kernel[1]][channels]
  float* y;
  Epilogue epilogue;  // the addend has the shape of y
};

// With all threads.
void Convolve(const DepthwiseLast& conv);

struct DepthwiseLastTable {
  // Lines [begin, end) of the n * out[0] ones of y.
  void (*lines)(const DepthwiseLast& conv, Size begin, Size end);
};
HEADRACE_TABLE(DepthwiseLastTable, DepthwiseLines)

}  // namespace headrace::cpu
