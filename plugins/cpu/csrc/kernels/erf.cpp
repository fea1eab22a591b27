#include "erf.h"

#include <cmath>
#include <cstring>

namespace headrace::cpu {
namespace {

template <std::size_t kCount>
HEADRACE_INLINE float Polynomial(const float (&coefficients)[kCount], float x) {
  float sum = coefficients[kCount - 1];
  for (std::size_t i = kCount - 1; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// exp(x) for x in [-20, 1], relative error about 2^-23. std::exp is a call for each element, which
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

// Both branches are polynomials fitted to the double-precision function (weighted least squares
// driven towards equal ripple), and both are always computed: a select vectorises.
HEADRACE_INLINE float ErfOne(float x) {
  // erf(x) / x - 1 in x^2 on [0, 1]. Leaving the 1 out lets the last addition round only once.
  constexpr float kSmall[] = {0.128379166f,   -0.37612626f,     0.112835854f,   -0.026853811f,
                              0.00518832775f, -0.000801019254f, 7.85385782e-05f};
  // -log(erfc(x)) on [1, 4]. From 4 on, erf(x) rounds to 1.
  constexpr float kLarge[] = {0.000341512583f, 1.12708926f,    0.638144732f,    0.103106819f,
                              -0.0218380969f,  0.00294766668f, -0.000186380086f};
  const float magnitude = std::fabs(x);
  const float clamped = magnitude < 4.0f ? magnitude : 4.0f;
  const float small = x + x * Polynomial(kSmall, clamped * clamped);
  const float large = std::copysign(1.0f - Exp(-Polynomial(kLarge, clamped)), x);
  const float result = magnitude < 1.0f ? small : large;
  return x != x ? x : result;
}

}  // namespace

HEADRACE_MULTIVERSION void Erf(const float* x, float* y, Size count) {
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < count; ++i) y[i] = ErfOne(x[i]);
}

// Double is for checking results, not for speed: the library's own function is exact enough.
HEADRACE_MULTIVERSION void Erf(const double* x, double* y, Size count) {
  for (Size i = 0; i < count; ++i) y[i] = std::erf(x[i]);
}

}  // namespace headrace::cpu
