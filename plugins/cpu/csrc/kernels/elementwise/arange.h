// Numbers that go on by equal steps.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// y[i] = start + i * step for `count` elements. T: float or double, reckoned in double;
// std::int32_t or std::int64_t, which wrap around.
template <class T>
void Arange(const T* start, const T* step, T* y, Size count);

}  // namespace headrace::cpu
