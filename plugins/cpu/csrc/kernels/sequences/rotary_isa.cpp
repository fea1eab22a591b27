#include <cstring>

#include "kernels/machine/simd.h"
#include "kernels/sequences/rotary.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

void RotateRow(const Rotation& r, const float* x, const float* cos, const float* sin, float* y) {
  if (r.interleaved) {
    for (Size p = 0; p < r.pairs; ++p) {
      const float a = x[2 * p], b = x[2 * p + 1];
      y[2 * p] = a * cos[p] - b * sin[p];
      y[2 * p + 1] = a * sin[p] + b * cos[p];
    }
  } else {
    for (Size p = 0; p < r.pairs; p += kWidth) {
      const int count = VectorCount(r.pairs - p);
      const V a = LoadFirst(x + p, count), b = LoadFirst(x + r.pairs + p, count);
      const V c = LoadFirst(cos + p, count), s = LoadFirst(sin + p, count);
      StoreFirst(y + p, a * c - b * s, count);
      StoreFirst(y + r.pairs + p, a * s + b * c, count);
    }
  }
  if (y == x) return;
  const auto rest = static_cast<std::size_t>(r.size - 2 * r.pairs);
  std::memcpy(y + 2 * r.pairs, x + 2 * r.pairs, rest * sizeof(float));
}

}  // namespace

extern const RotaryTable kRotaryRows = {RotateRow};

}  // namespace headrace::cpu::HEADRACE_ISA
