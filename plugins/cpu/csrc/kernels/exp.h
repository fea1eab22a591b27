// The exponential function, for loops that must stay vectorised.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "multiversion.h"

namespace headrace::cpu {

template <std::size_t kCount>
HEADRACE_INLINE float Polynomial(const float (&coefficients)[kCount], float x) {
  float sum = coefficients[kCount - 1];
  for (std::size_t i = kCount - 1; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// exp(x) for x in [-87, 88], relative error about 2^-23. std::exp is a call for each element, which
// would keep the loop scalar.
HEADRACE_INLINE float Exp(float x) {
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;  // few bits: its product with a small integer is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23: adding it leaves no room for a fraction
  constexpr float kExp[] = {1.00000012f,  0.999999702f, 0.499988496f,
                            0.166676119f, 0.041920349f, 0.00829693582f};
  const float shifted = x * kLog2E + kRounder;
  const float n = shifted - kRounder;
  const float rest = (x - n * kLn2High) - n * kLn2Low;
  const std::int32_t exponent = (static_cast<std::int32_t>(n) + 127) << 23;
  float power;
  std::memcpy(&power, &exponent, sizeof power);
  return Polynomial(kExp, rest) * power;
}

// 1 / (1 + exp(-x)) for any x. Below -88 the result is 6e-39, where it should go on falling.
HEADRACE_INLINE float Sigmoid(float x) {
  const float above = x > -88.0f ? x : -88.0f;
  const float limited = above < 87.0f ? above : 87.0f;
  const float result = 1.0f / (1.0f + Exp(-limited));
  return x != x ? x : result;
}

// Double is for checking results, not for speed: the library's own function is exact enough.
HEADRACE_INLINE double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace headrace::cpu
