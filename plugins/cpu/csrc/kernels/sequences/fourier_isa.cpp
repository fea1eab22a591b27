#include "kernels/machine/simd.h"
#include "kernels/sequences/butterflies.h"
#include "kernels/sequences/complex_vector.h"
#include "kernels/sequences/fourier.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

void LoadColumns(const FourierSource& x, bool is_swapped, int lanes, float* to, Size begin,
                 Size end) {
  for (Size column = begin; column < end; ++column) {
    C c;
    if (x.is_pairs) {
      const Size at = 2 * lanes * column;
      const int count = Held(x.floats - at, 2 * lanes);
      const V first = LoadFirst(x.from + at, Held(count, kWidth));
      const V second =
          count <= kWidth ? Broadcast(0) : LoadFirst(x.from + at + kWidth, count - kWidth);
      c = FromPairs(first, second);
    } else {
      const Size at = lanes * column;
      const int count = Held(x.floats - at, lanes);
      c = {count == 0 ? Broadcast(0) : LoadFirst(x.from + at, count), Broadcast(0)};
    }
    StoreColumn(to + column * kFourierColumn, is_swapped ? C{c.im, c.re} : c);
  }
}

template <int kRadix>
void PassOf(const FourierPass& pass, const float* from, float* to, Size begin, Size end) {
  const Size stride = pass.stride, step = pass.length / kRadix * stride * kFourierColumn;
  for (Size at = begin; at < end;) {
    const Size turn = at / stride, first = at % stride;
    const Size stop = end - at < stride - first ? end : at + stride - first;
    const float* x = from + at * kFourierColumn;
    float* y = to + (first + stride * kRadix * turn) * kFourierColumn;
    const float* turns = pass.turns + turn * (kRadix - 1) * 2;
    for (; at < stop; ++at, x += kFourierColumn, y += kFourierColumn) {
      C v[kRadix];
#pragma GCC unroll 16
      for (int i = 0; i < kRadix; ++i) v[i] = LoadColumn(x + i * step);
      Butterfly<kRadix>(v, pass.roots);
      StoreColumn(y, v[0]);
#pragma GCC unroll 16
      for (int i = 1; i < kRadix; ++i) {
        if (turn != 0) v[i] = v[i] * BroadcastPair(turns + 2 * (i - 1));
        StoreColumn(y + i * stride * kFourierColumn, v[i]);
      }
    }
  }
}

void PassColumns(const FourierPass& pass, const float* from, float* to, Size begin, Size end) {
  switch (pass.radix) {
    case 2:
      return PassOf<2>(pass, from, to, begin, end);
    case 3:
      return PassOf<3>(pass, from, to, begin, end);
    case 4:
      return PassOf<4>(pass, from, to, begin, end);
    case 5:
      return PassOf<5>(pass, from, to, begin, end);
    case 7:
      return PassOf<7>(pass, from, to, begin, end);
    case 8:
      return PassOf<8>(pass, from, to, begin, end);
    case 11:
      return PassOf<11>(pass, from, to, begin, end);
    default:
      return PassOf<13>(pass, from, to, begin, end);
  }
}

void JoinLanes(const FourierJoin& join, const float* from, bool is_swapped, float* y, Size begin,
               Size end) {
  for (Size block = begin; block < end; ++block) {
    const Size column = block * kWidth;
    const int count = Held(join.columns - column, kWidth);
    V re[kWidth] = {}, im[kWidth] = {};
    for (int i = 0; i < count; ++i) {
      const Size at = (column + i) * kFourierColumn;
      const C turned = LoadColumn(from + at) * LoadColumn(join.turns + at);
      re[i] = turned.re;
      im[i] = turned.im;
    }
    Transpose(re);
    Transpose(im);
    C v[kFourierLanes];
#pragma GCC unroll 16
    for (int lane = 0; lane < kFourierLanes; ++lane) v[lane] = {re[lane], im[lane]};
    if (join.lanes == 16) {
      Sixteen(v);
    } else if (join.lanes == 8) {
      Eight(v);
    } else {
      Any(v, join.lanes, join.roots);
    }
    for (int lane = 0; lane < join.lanes; ++lane) {
      const C made = is_swapped ? C{v[lane].im, v[lane].re} : v[lane];
      StorePairs(y + 2 * (lane * join.columns + column), made, count);
    }
  }
}

void Multiply(const float* x, const float* by, float* y, Size count) {
  for (Size at = 0; at < count; at += kWidth) {
    const int pairs = Held(count - at, kWidth);
    StorePairs(y + 2 * at, LoadPairs(x + 2 * at, pairs) * LoadPairs(by + 2 * at, pairs), pairs);
  }
}

// The numbers of which the last is at `last`, backwards and mirrored.
HEADRACE_INLINE C Mirrored(const float* z, Size last, int pairs) {
  C c;
  if (pairs == kWidth) {
    c = LoadPairs(z + 2 * (last - kWidth + 1), kWidth);
    c = {Backwards(c.re), Backwards(c.im)};
  } else {
    float re[kWidth] = {}, im[kWidth] = {};
    for (int i = 0; i < pairs; ++i) {
      re[i] = z[2 * (last - i)];
      im[i] = z[2 * (last - i) + 1];
    }
    c = {Load(re), Load(im)};
  }
  return {c.re, -c.im};
}

void Unfold(const float* z, Size half, const float* turns, float* y, Size begin, Size end) {
  const V by_half = Broadcast(0.5f);
  for (Size at = begin; at < end; at += kWidth) {
    const int pairs = Held(end - at, kWidth);
    const C own = LoadPairs(z + 2 * at, pairs), other = Mirrored(z, half - at, pairs);
    const C even = own + other, odd = Quarter(own - other) * LoadPairs(turns + 2 * at, pairs);
    const C sum = even + odd;
    StorePairs(y + 2 * at, {sum.re * by_half, sum.im * by_half}, pairs);
  }
}

void Fold(const float* x, Size half, const float* turns, float* z, Size begin, Size end) {
  const V by_half = Broadcast(0.5f);
  for (Size at = begin; at < end; at += kWidth) {
    const int pairs = Held(end - at, kWidth);
    const C own = LoadPairs(x + 2 * at, pairs), other = Mirrored(x, half - at, pairs);
    const C turn = LoadPairs(turns + 2 * at, pairs);
    const C even = own + other, odd = Quarter((own - other) * C{turn.re, -turn.im});
    const C sum = even - odd;  // a quarter of a turn against the clock
    StorePairs(z + 2 * at, {sum.re * by_half, sum.im * by_half}, pairs);
  }
}

}  // namespace

extern const FourierTable kFouriers = {LoadColumns, PassColumns, JoinLanes, Multiply, Unfold, Fold};

}  // namespace headrace::cpu::HEADRACE_ISA
