// Changes of dtype, one element at a time, as the op `cast` has them.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// bool is a byte of 0 or 1. The last two can be cast from only: to them, numbers may be rounded
// once only.
enum class Number : int {
  kBool,
  kInt8,
  kUint8,
  kInt32,
  kInt64,
  kFloat,
  kDouble,
  kFloat16,
  kBfloat16,
  kCount
};
constexpr int kMadeNumbers = static_cast<int>(Number::kFloat16);

using CastLoop = void (*)(const void* x, void* y, Size count);

struct CastTable {
  CastLoop loops[static_cast<int>(Number::kCount)][kMadeNumbers];  // from, to
};
HEADRACE_TABLE(CastTable, Casts)

}  // namespace headrace::cpu
