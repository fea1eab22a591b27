#include "erf.h"

#include <cmath>

#include "exp.h"

namespace headrace::cpu {
namespace {

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
