// Sixteen complex numbers in vectors, and moves between their lanes.
#pragma once

#include "kernels/machine/simd.h"

namespace headrace::cpu::HEADRACE_ISA {

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

// So many of `most` floats are there.
HEADRACE_INLINE int Held(Size floats, int most) {
  return floats <= 0 ? 0 : floats < most ? static_cast<int>(floats) : most;
}

HEADRACE_INLINE C LoadPairs(const float* p, int pairs) {
  const V first = LoadFirst(p, Held(2 * pairs, kWidth));
  const V second = 2 * pairs > kWidth ? LoadFirst(p + kWidth, 2 * pairs - kWidth) : Broadcast(0);
  return FromPairs(first, second);
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

}  // namespace headrace::cpu::HEADRACE_ISA
