// The two 16-bit floating-point formats, to and from float; rounded to nearest, ties to even.
#pragma once

#include <cstdint>
#include <cstring>

namespace mlusim::network {

inline std::uint32_t BitsOf(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float FloatOf(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline float FloatOfHalf(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
  const std::uint32_t exponent = half >> 10 & 0x1f;
  const std::uint32_t fraction = half & 0x3ff;
  if (exponent == 0x1f) return FloatOf(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return FloatOf(sign | (exponent + 112) << 23 | fraction << 13);
  // A subnormal is a multiple of 2^-24, which a float holds.
  return FloatOf(sign | BitsOf(static_cast<float>(fraction) * 0x1p-24f));
}

inline std::uint16_t HalfOfFloat(float value) {
  const std::uint32_t bits = BitsOf(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and more
  if (magnitude < 0x38800000u) {
    // Subnormal: adding 0.5 leaves the multiple of 2^-24, rounded, in the low bits.
    return static_cast<std::uint16_t>(sign | (BitsOf(FloatOf(magnitude) + 0.5f) & 0x7ffu));
  }
  const std::uint32_t odd = magnitude >> 13 & 1;
  return static_cast<std::uint16_t>(sign | (magnitude - 0x38000000u + 0xfff + odd) >> 13);
}

inline float FloatOfBfloat(std::uint16_t value) { return FloatOf(std::uint32_t{value} << 16); }

inline std::uint16_t BfloatOfFloat(float value) {
  const std::uint32_t bits = BitsOf(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace mlusim::network
