#include "kernels/machine/simd.h"
#include "kernels/sequences/fourier.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// Sixteen complex numbers.
struct C {
  V re, im;
};

HEADRACE_INLINE C operator+(C a, C b) { return {a.re + b.re, a.im + b.im}; }
HEADRACE_INLINE C operator-(C a, C b) { return {a.re - b.re, a.im - b.im}; }
HEADRACE_INLINE C operator*(C a, C b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// A quarter of a turn, clockwise.
HEADRACE_INLINE C Quarter(C a) { return {a.im, -a.re}; }

HEADRACE_INLINE C LoadColumn(const float* p) { return {Load(p), Load(p + kWidth)}; }
HEADRACE_INLINE void StoreColumn(float* p, C c) {
  Store(p, c.re);
  Store(p + kWidth, c.im);
}
HEADRACE_INLINE C BroadcastPair(const float* p) { return {Broadcast(p[0]), Broadcast(p[1])}; }

// --- moves between lanes -------------------------------------------------------------------------

template <int...>
struct Lanes {};
#if defined(__AVX512F__)
using All = Lanes<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>;
#elif defined(__AVX__)
using All = Lanes<0, 1, 2, 3, 4, 5, 6, 7>;
#else
using All = Lanes<0, 1, 2, 3>;
#endif

template <int... I>
HEADRACE_INLINE Part Evens(Part a, Part b, Lanes<I...>) {
  return __builtin_shufflevector(a, b, (2 * I)...);
}
template <int... I>
HEADRACE_INLINE Part Odds(Part a, Part b, Lanes<I...>) {
  return __builtin_shufflevector(a, b, (2 * I + 1)...);
}
// Of each part by turns, from the first or from the middle on.
template <int kFirst, int... I>
HEADRACE_INLINE Part ByTurns(Part a, Part b, Lanes<I...>) {
  return __builtin_shufflevector(a, b, (kFirst + I / 2 + I % 2 * kLanes)...);
}
template <int... I>
HEADRACE_INLINE Part Backwards(Part a, Lanes<I...>) {
  return __builtin_shufflevector(a, a, (kLanes - 1 - I)...);
}
// Of rows that are kStep apart: what of both has bit kStep of its column clear, and set.
template <int kStep, int... I>
HEADRACE_INLINE Part Clear(Part a, Part b, Lanes<I...>) {
  return __builtin_shufflevector(a, b, ((I & kStep) != 0 ? I - kStep + kLanes : I)...);
}
template <int kStep, int... I>
HEADRACE_INLINE Part Set(Part a, Part b, Lanes<I...>) {
  return __builtin_shufflevector(a, b, ((I & kStep) != 0 ? I + kLanes : I + kStep)...);
}

// Numbers of pairs that lie one after another.
HEADRACE_INLINE C FromPairs(V first, V second) {
  const V pair[2] = {first, second};
  C c;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    const Part a = pair[2 * i / kParts].part[2 * i % kParts];
    const Part b = pair[(2 * i + 1) / kParts].part[(2 * i + 1) % kParts];
    c.re.part[i] = Evens(a, b, All());
    c.im.part[i] = Odds(a, b, All());
  }
  return c;
}

HEADRACE_INLINE void ToPairs(C c, V& first, V& second) {
  V pair[2];
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    pair[2 * i / kParts].part[2 * i % kParts] = ByTurns<0>(c.re.part[i], c.im.part[i], All());
    pair[(2 * i + 1) / kParts].part[(2 * i + 1) % kParts] =
        ByTurns<kLanes / 2>(c.re.part[i], c.im.part[i], All());
  }
  first = pair[0];
  second = pair[1];
}

HEADRACE_INLINE V Backwards(V v) {
  V r;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) r.part[i] = Backwards(v.part[kParts - 1 - i], All());
  return r;
}

template <int kStep>
HEADRACE_INLINE void Exchange(Part* rows) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if ((i & kStep) != 0) continue;
    const Part a = rows[i], b = rows[i + kStep];
    rows[i] = Clear<kStep>(a, b, All());
    rows[i + kStep] = Set<kStep>(a, b, All());
  }
}

HEADRACE_INLINE void Transpose(V* rows) {
  V columns[kWidth];
#pragma GCC unroll 4
  for (int across = 0; across < kParts; ++across) {
#pragma GCC unroll 4
    for (int down = 0; down < kParts; ++down) {
      Part block[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) block[i] = rows[down * kLanes + i].part[across];
      Exchange<1>(block);
      Exchange<2>(block);
#if defined(__AVX__)
      Exchange<4>(block);
#endif
#if defined(__AVX512F__)
      Exchange<8>(block);
#endif
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) columns[across * kLanes + i].part[down] = block[i];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kWidth; ++i) rows[i] = columns[i];
}

// --- transforms of few numbers -------------------------------------------------------------------

constexpr float kHalfRoot = 0.70710678118654752f;  // of an eighth of a turn
constexpr float kLongRoot = 0.92387953251128676f, kShortRoot = 0.38268343236508977f;

HEADRACE_INLINE void Two(C& a, C& b) {
  const C sum = a + b, rest = a - b;
  a = sum;
  b = rest;
}

HEADRACE_INLINE void Four(C& a, C& b, C& c, C& d) {
  const C even = a + c, odd = b + d, even_rest = a - c, odd_rest = Quarter(b - d);
  a = even + odd;
  b = even_rest + odd_rest;
  c = even - odd;
  d = even_rest - odd_rest;
}

HEADRACE_INLINE C Turned(C a, float cosine, float sine) {
  return a * C{Broadcast(cosine), Broadcast(sine)};
}
// An eighth of a turn, clockwise, and three of them.
HEADRACE_INLINE C Eighth(C a) {
  const V root = Broadcast(kHalfRoot);
  return {(a.re + a.im) * root, (a.im - a.re) * root};
}
HEADRACE_INLINE C ThreeEighths(C a) {
  const V root = Broadcast(kHalfRoot);
  return {(a.im - a.re) * root, -(a.re + a.im) * root};
}

HEADRACE_INLINE void Eight(C* v) {
  C even[4] = {v[0], v[2], v[4], v[6]}, odd[4] = {v[1], v[3], v[5], v[7]};
  Four(even[0], even[1], even[2], even[3]);
  Four(odd[0], odd[1], odd[2], odd[3]);
  odd[1] = Eighth(odd[1]);
  odd[2] = Quarter(odd[2]);
  odd[3] = ThreeEighths(odd[3]);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    v[i] = even[i] + odd[i];
    v[i + 4] = even[i] - odd[i];
  }
}

HEADRACE_INLINE void Sixteen(C* v) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) Four(v[i], v[i + 4], v[i + 8], v[i + 12]);
  v[5] = Turned(v[5], kLongRoot, -kShortRoot);
  v[6] = Eighth(v[6]);
  v[7] = Turned(v[7], kShortRoot, -kLongRoot);
  v[9] = Eighth(v[9]);
  v[10] = Quarter(v[10]);
  v[11] = ThreeEighths(v[11]);
  v[13] = Turned(v[13], kShortRoot, -kLongRoot);
  v[14] = ThreeEighths(v[14]);
  v[15] = Turned(v[15], -kLongRoot, kShortRoot);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) Four(v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]);
  C sorted[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) sorted[i] = v[i % 4 * 4 + i / 4];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) v[i] = sorted[i];
}

// By its definition; what stands at the same distance from both ends has the same cosine.
HEADRACE_INLINE void Any(C* v, int count, const float* roots) {
  C sum[kFourierLanes / 2], rest[kFourierLanes / 2];
  const int pairs = (count - 1) / 2;
  const C first = v[0];
  C total = first;
  for (int i = 1; i <= pairs; ++i) {
    sum[i - 1] = v[i] + v[count - i];
    rest[i - 1] = v[i] - v[count - i];
    total = total + sum[i - 1];
  }
  const bool has_middle = count % 2 == 0;
  const C middle = has_middle ? v[count / 2] : C{Broadcast(0), Broadcast(0)};
  v[0] = total + middle;
  for (int bin = 1; 2 * bin <= count; ++bin) {
    C even = bin % 2 == 0 ? first + middle : first - middle;
    C odd = {Broadcast(0), Broadcast(0)};
    int at = 0;
    for (int i = 0; i < pairs; ++i) {
      at += bin;
      if (at >= count) at -= count;
      const V cosine = Broadcast(roots[2 * at]), sine = Broadcast(roots[2 * at + 1]);
      even = {MulAdd(sum[i].re, cosine, even.re), MulAdd(sum[i].im, cosine, even.im)};
      odd = {MulAdd(rest[i].re, sine, odd.re), MulAdd(rest[i].im, sine, odd.im)};
    }
    // The sine is negative already: times i.
    v[bin] = {even.re - odd.im, even.im + odd.re};
    if (2 * bin != count) v[count - bin] = {even.re + odd.im, even.im - odd.re};
  }
}

template <int kRadix>
HEADRACE_INLINE void Butterfly(C* v, const float* roots) {
  if (kRadix == 2) return Two(v[0], v[1]);
  if (kRadix == 4) return Four(v[0], v[1], v[2], v[3]);
  if (kRadix == 8) return Eight(v);
  Any(v, kRadix, roots);
}

// --- the table -----------------------------------------------------------------------------------

HEADRACE_INLINE int Held(Size floats, int most) {
  return floats <= 0 ? 0 : floats < most ? static_cast<int>(floats) : most;
}

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

HEADRACE_INLINE void StorePairs(float* y, C c, int pairs) {
  V first, second;
  ToPairs(c, first, second);
  if (2 * pairs >= kWidth) {
    Store(y, first);
    if (2 * pairs > kWidth) StoreFirst(y + kWidth, second, 2 * pairs - kWidth);
  } else {
    StoreFirst(y, first, 2 * pairs);
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

HEADRACE_INLINE C LoadPairs(const float* p, int pairs) {
  const V first = LoadFirst(p, Held(2 * pairs, kWidth));
  const V second = 2 * pairs > kWidth ? LoadFirst(p + kWidth, 2 * pairs - kWidth) : Broadcast(0);
  return FromPairs(first, second);
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
