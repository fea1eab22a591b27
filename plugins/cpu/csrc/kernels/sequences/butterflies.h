// Transforms of few numbers, in registers; of sixteen of them side by side.
#pragma once

#include "kernels/sequences/complex_vector.h"
#include "kernels/sequences/fourier.h"

namespace headrace::cpu::HEADRACE_ISA {

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

}  // namespace headrace::cpu::HEADRACE_ISA
