// Convolutions over images whose channels are last, as products; see gemm.h.
#pragma once

#include <memory>

#include "kernels/products/gemm.h"
#include "kernels/windows/window.h"

namespace headrace::cpu {

// x [n, *in, channels], y [n, *out, outputs], both float32. Group g of the outputs reads group g of
// the channels; `panels` holds the weights group by group, each [outputs / groups / 16][taps *
// channels / groups][16], filled up with zeros, taps outermost.
struct ConvShape {
  Window window;
  Size n = 1;
  Size channels = 1;
  Size outputs = 1;
  Size groups = 1;
};

// A convolution whose pointers are fixed; what can be prepared is. Runs on all threads.
class Conv {
 public:
  virtual ~Conv() = default;
  virtual void Run() const = 0;
};

// Packed weights, group by group.
struct Panels {
  const void* first;
  PanelItem item;
};

// The addend has the shape of y.
std::unique_ptr<Conv> MakeConv(const ConvShape& shape, const float* x, const Panels& panels,
                               float* y, const Epilogue& epilogue);

}  // namespace headrace::cpu
