// Products of matrices of int32 or int64, whose sums wrap around.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

struct IntegerMatrices {
  Size rows, depth, columns;
};

// With all threads. y = a * b; a: T[rows, depth], b: T[depth, columns], y: T[rows, columns], each
// row by row. y does not overlap the others.
void Multiply(const IntegerMatrices& m, const std::int32_t* a, const std::int32_t* b,
              std::int32_t* y);
void Multiply(const IntegerMatrices& m, const std::int64_t* a, const std::int64_t* b,
              std::int64_t* y);

// The rows of y from `begin` up to `end`.
template <class T>
struct IntegerProducts {
  void (*rows)(const IntegerMatrices& m, const T* a, const T* b, T* y, Size begin, Size end);
};
struct IntegerMatmulTable : IntegerProducts<std::int32_t>, IntegerProducts<std::int64_t> {};
HEADRACE_TABLE(IntegerMatmulTable, IntegerMatmuls)

}  // namespace headrace::cpu
