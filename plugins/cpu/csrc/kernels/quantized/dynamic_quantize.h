// Floats to bytes by their own range.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// As the op `dynamic_quantize` has it: y[count], one scale, one zero point. With all threads.
void DynamicQuantize(const float* x, Size count, std::uint8_t* y, float* scale,
                     std::uint8_t* zero_point);

struct DynamicQuantizeTable {
  // The least and the greatest of x and of what stands there already; NaN if one is.
  void (*range)(const float* x, Size count, float* low, float* high);
  void (*quantize)(const float* x, Size count, float scale, std::uint8_t zero, std::uint8_t* y);
};
HEADRACE_TABLE(DynamicQuantizeTable, DynamicQuantizers)

}  // namespace headrace::cpu
