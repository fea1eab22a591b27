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

// What sums and products of an integer type keep: its own low bits. Floats are left as they are.
void Wrap(int type, std::vector<std::int64_t>& values);
inline void Wrap(int, std::vector<float>&) {}
inline void Wrap(int, std::vector<double>&) {}

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

// The bytes of elements, one after another in row-major order, for ops that move them whatever they
// mean.
std::vector<unsigned char> BytesOfElements(const Operand& operand);
void StoreBytes(const Operand& operand, const std::vector<unsigned char>& bytes);
void CopyElements(const Operand& from, const Operand& to);

}  // namespace mlusim::network
