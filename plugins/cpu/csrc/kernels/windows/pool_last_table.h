// What pools over channels need of the instruction set.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

struct PoolTable {
  // y[c] = the largest of tap[i][c], for c in [begin, end); NaN wins. No tap: minus infinity.
  void (*largest)(const float* const* taps, Size count, float* y, Size begin, Size end);
  // y[c] = the sum of tap[i][c], divided.
  void (*mean)(const float* const* taps, Size count, float divisor, float* y, Size begin, Size end);
  // The same of all columns of rows that are `stride` floats apart.
  void (*largest_row)(const float* x, Size stride, Size count, float* y, Size columns);
  void (*row_mean)(const float* x, Size stride, Size count, float divisor, float* y, Size columns);
  // y[c] = the largest of tap[i][c], bytes that are signed or not. No tap: the least there is.
  void (*largest_bytes)(const std::uint8_t* const* taps, Size count, std::uint8_t* y, Size channels,
                        bool is_signed);
};
HEADRACE_TABLE(PoolTable, Pools)

}  // namespace headrace::cpu
