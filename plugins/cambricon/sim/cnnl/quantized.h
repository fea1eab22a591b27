// Fixed-point values: real = stored * 2^position / scale.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "op.h"

namespace mlusim::network {

struct Quantization {
  int position = 0;
  float scale = 1;
};

// The parameters that spread [-absmax, absmax] over `bits` bits. 0 has position 0 and scale 1.
Quantization Fit(float absmax, int bits, bool with_scale);

// cnnlQuantizeRoundMode_t: 0 ties to even, 1 ties up, 2 ties away from zero.
float Rounded(float value, int mode);
std::vector<std::int64_t> Quantized(const std::vector<float>& values, Quantization by, int bits,
                                    int round_mode);

inline bool IsFixed(const Tensor& tensor) { return tensor.type == kInt8 || tensor.type == kInt16; }
inline int BitsOfType(int type) { return type == kInt8 ? 8 : 16; }
// What one unit of a stored value is worth.
inline double Unit(const Operand& operand) {
  return std::ldexp(1.0, operand.position) / operand.scale;
}

// The pairs that conv and matmul multiply: two floats of one type, or two fixed-point tensors with
// their parameters set. Throws Misuse or says that it is not supported.
void RequireFactors(const Tensor& a, const Tensor& b, const Tensor& product);

}  // namespace mlusim::network
