// The error function, elementwise.
#pragma once

#include "window.h"

namespace headrace::cpu {

// y[i] = erf(x[i]), within 2 units in the last place. x and y may be the same array.
void Erf(const float* x, float* y, Size count);
void Erf(const double* x, double* y, Size count);

}  // namespace headrace::cpu
