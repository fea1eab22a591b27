// Between the bytes of an operand and a dense vector to compute on. Every loop of the library works
// on such vectors, so data types and strides are dealt with here and nowhere else.
#pragma once

#include <cstdint>
#include <vector>

#include "op.h"

namespace mlusim::network {

// T is float, double or std::int64_t: what the arithmetic of the type is done in.
template <typename T>
std::vector<T> Load(const Operand& operand);

// Rounds, and saturates at the ends of an integer type; NaN becomes 0 there.
template <typename T>
void Store(const Operand& operand, const std::vector<T>& values);

// Calls with a value of the type in which the data type is computed.
template <typename Function>
void WithArithmetic(int type, Function&& function) {
  switch (type) {
    case kFloat:
    case kHalf:
    case kBfloat16:
      function(float{});
      break;
    case kDouble:
      function(double{});
      break;
    default:
      function(std::int64_t{});
  }
}

// The bytes of elements, for ops that move them whatever they mean.
void CopyElements(const Operand& from, const Operand& to);

}  // namespace mlusim::network
