// Sums of two tensors of quantized numbers, quantized again.
#pragma once

#include "kernels/quantized/integer.h"

namespace headrace::cpu {

// y = round(clamp(a * a_factor + b * b_factor + offset, low, high)) + zero, halves to even.
struct ByteSum {
  const std::uint8_t* a;
  const std::uint8_t* b;
  std::uint8_t* y;  // may be a or b
  Byte a_item, b_item;
  float a_factor, b_factor, offset, low, high;
  std::int32_t zero;
};

// Of `count` numbers, with all threads.
void Add(const ByteSum& sum, Size count);

struct ByteSumTable {
  void (*some)(const ByteSum& sum, Size begin, Size end);
};
HEADRACE_TABLE(ByteSumTable, ByteSums)

}  // namespace headrace::cpu
