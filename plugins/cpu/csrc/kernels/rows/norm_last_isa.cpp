#include "kernels/machine/simd.h"
#include "kernels/rows/norm_last.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

struct Sums {
  float* center;
  float* rest;
  float* squares;
};

template <bool kWhole>
HEADRACE_INLINE void MomentsOf(const float* x, Size rows, Size columns, const Sums& sums,
                               int width) {
  const auto load = [width](const float* p) { return kWhole ? Load(p) : LoadFirst(p, width); };
  // Two sums of each kind: one addition waits for the one before it.
  V sum[2] = {Broadcast(0), Broadcast(0)};
  Size r = 0;
  for (; r + 2 <= rows; r += 2) {
    sum[0] = sum[0] + load(x + r * columns);
    sum[1] = sum[1] + load(x + (r + 1) * columns);
  }
  if (r < rows) sum[0] = sum[0] + load(x + r * columns);
  const V center = (sum[0] + sum[1]) / Broadcast(static_cast<float>(rows));
  V rest[2] = {Broadcast(0), Broadcast(0)}, square[2] = {Broadcast(0), Broadcast(0)};
  const auto add = [&](int i, V away) {
    rest[i] = rest[i] + away;
    square[i] = MulAdd(away, away, square[i]);
  };
  for (r = 0; r + 2 <= rows; r += 2) {
    add(0, load(x + r * columns) - center);
    add(1, load(x + (r + 1) * columns) - center);
  }
  if (r < rows) add(0, load(x + r * columns) - center);
  StoreSome(sums.center, center, width);
  StoreSome(sums.rest, rest[0] + rest[1], width);
  StoreSome(sums.squares, square[0] + square[1], width);
}

void Moments(const float* x, Size rows, Size columns, float* center, float* rest, float* squares) {
  Size c = 0;
  for (; c + kWidth <= columns; c += kWidth) {
    MomentsOf<true>(x + c, rows, columns, {center + c, rest + c, squares + c}, kWidth);
  }
  if (c < columns) {
    MomentsOf<false>(x + c, rows, columns, {center + c, rest + c, squares + c},
                     static_cast<int>(columns - c));
  }
}

void Scale(const float* x, Size rows, Size columns, const float* center, const float* factor,
           const float* offset, float* y) {
  for (Size c = 0; c < columns; c += kWidth) {
    const int width = VectorCount(columns - c);
    const V a = LoadSome(center + c, width), f = LoadSome(factor + c, width);
    const V b = LoadSome(offset + c, width);
    for (Size r = 0; r < rows; ++r) {
      const Size place = r * columns + c;
      StoreSome(y + place, MulAdd(LoadSome(x + place, width) - a, f, b), width);
    }
  }
}

}  // namespace

extern const NormTable kNorms = {Moments, Scale};

}  // namespace headrace::cpu::HEADRACE_ISA
