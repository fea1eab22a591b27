// Largest element of each window, and where it was found.
#pragma once

#include "window.h"

namespace headrace::cpu {

enum class IndexOrder { kRowMajor, kColumnMajor };

// x: T[planes, *w.in]; y: T[planes, *w.out]. Padding never wins and NaN always does. A window that
// stands on padding alone gives the lowest value of T.
//
// indices: int64[planes, *w.out] or null. The first winner in row-major order, as a flat index
// into all of x; kColumnMajor counts the spatial axes of a plane with the first one fastest. A
// window without a real element gives -1.
#define HEADRACE_DECLARE_MAX_POOL(T)                                                   \
  void MaxPool(const T* x, T* y, std::int64_t* indices, IndexOrder order, Size planes, \
               const Window& w);
HEADRACE_DECLARE_MAX_POOL(float)
HEADRACE_DECLARE_MAX_POOL(double)
HEADRACE_DECLARE_MAX_POOL(std::int8_t)
HEADRACE_DECLARE_MAX_POOL(std::uint8_t)
HEADRACE_DECLARE_MAX_POOL(std::int32_t)
HEADRACE_DECLARE_MAX_POOL(std::int64_t)
#undef HEADRACE_DECLARE_MAX_POOL

}  // namespace headrace::cpu
