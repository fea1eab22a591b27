// Running sums and products along an axis.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

enum class Running { kSum, kProduct };

// y[o, k, i]: of x[o, 0, i] to x[o, k, i], or of those before k alone, or from the other end. x, y:
// [outer, length, inner]; y may be x unless `is_exclusive`. T: float, double, std::int32_t or
// std::int64_t, and integers wrap around.
template <class T>
void Cumulate(Running running, const T* x, T* y, Size outer, Size length, Size inner,
              bool is_exclusive, bool is_reverse);

}  // namespace headrace::cpu
