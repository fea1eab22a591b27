// Elementwise arithmetic: one pass over memory, outputs may be their inputs.
#pragma once

#include <cstdint>

#include "window.h"  // Size

namespace headrace::cpu {

// y[i] = f(x[i]) for `count` elements; what p and q are, the function says.
template <class T>
using UnaryLoop = void (*)(const T* x, T* y, Size count, T p, T q);

// y[i] = f(a[i * a_step], b[i * b_step]) for `count` elements; steps are 0 or 1.
template <class T>
using BinaryLoop = void (*)(const T* a, Size a_step, const T* b, Size b_step, T* y, Size count);

// The loop of an op by the op's name; null when this type has none.
template <class T>
UnaryLoop<T> FindUnary(const char* op);
template <class T>
BinaryLoop<T> FindBinary(const char* op);

}  // namespace headrace::cpu
