// Convolution as a matrix product: gather the windows of an image into columns, and the adjoint.
#pragma once

#include "kernels/windows/window.h"

namespace headrace::cpu {

// x: T[channels, *w.in]; cols: T[channels * w.KernelCount(), w.OutCount()], fully written.
// Column (c, taps), position o holds the element under that tap, or 0 where the tap is padding.
void Im2Col(const float* x, float* cols, Size channels, const Window& w);
void Im2Col(const double* x, double* cols, Size channels, const Window& w);

// Adds every column element onto the image element that Im2Col would have read it from.
// cols and w as above; y: T[channels, *w.in], zeroed first.
void Col2Im(const float* cols, float* y, Size channels, const Window& w);
void Col2Im(const double* cols, double* y, Size channels, const Window& w);

}  // namespace headrace::cpu
