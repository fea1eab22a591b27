// Convolution in which every output channel reads one input channel: too little arithmetic for a
// matrix product, so the windows are walked directly.
#pragma once

#include "kernels/convolutions/tap_planes.h"

namespace headrace::cpu {

struct DepthwiseShape {
  Size batch;
  Size channels;
  Size multiplier;  // output channels for each input channel
};

// x: T[batch, channels, *w.in]; weight: T[channels * multiplier, *w.kernel];
// bias: T[channels * multiplier] or null; y: T[batch, channels * multiplier, *w.out].
// Output channel c reads input channel c / multiplier. y may not overlap the inputs. T is float or
// double.
template <class T>
class DepthwiseConv {
 public:
  DepthwiseConv(const DepthwiseShape& shape, const Window& w) : shape_(shape), w_(w), planes_(w) {}

  void Run(const T* x, const T* weight, const T* bias, T* y) const;

 private:
  void ConvolvePlane(const T* plane, const T* weights, T bias, T* y, T* sum) const;

  DepthwiseShape shape_;
  Window w_;
  TapPlanes<T> planes_;
};

}  // namespace headrace::cpu
