// Convolution in which every output channel reads one input channel: too little arithmetic for a
// matrix product, so the windows are walked directly.
#pragma once

#include "window.h"

namespace headrace::cpu {

struct DepthwiseShape {
  Size batch;
  Size channels;
  Size multiplier;  // output channels for each input channel
};

// x: T[batch, channels, *w.in]; weight: T[channels * multiplier, *w.kernel];
// bias: T[channels * multiplier] or null; y: T[batch, channels * multiplier, *w.out].
// Output channel c reads input channel c / multiplier. y may not overlap the inputs.
void DepthwiseConv(const float* x, const float* weight, const float* bias, float* y,
                   const DepthwiseShape& shape, const Window& w);
void DepthwiseConv(const double* x, const double* weight, const double* bias, double* y,
                   const DepthwiseShape& shape, const Window& w);

}  // namespace headrace::cpu
