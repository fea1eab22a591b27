// Functions of sixteen floats that hold for every float: infinities, NaN and denormal numbers, as
// arguments and as results. Errors are in units in the last place of the right result, measured
// over all floats; see test_program.py.
#pragma once

#include "kernels/machine/simd.h"

namespace headrace::cpu::HEADRACE_ISA {

HEADRACE_INLINE V NanOr(V x, V y) { return Select(x == x, y, x); }

// The larger and the smaller, or NaN if one is; of two zeros the first.
HEADRACE_INLINE V MaxOrNan(V a, V b) { return NanOr(b, AtLeast(a, b)); }
HEADRACE_INLINE V MinOrNan(V a, V b) { return NanOr(b, AtMost(a, b)); }

// `size`, which is not below 0, as a number of the sign of x.
HEADRACE_INLINE V WithSignOf(V x, V size) {
  const VI sign = AsInts(x) & BroadcastInt(static_cast<std::int32_t>(0x80000000u));
  return AsFloats(AsInts(size) | sign);
}

// exp(x) = 2^n (1 + more), with n whole and |more| < 0.42: nothing is lost of an x that is small.
struct Growth {
  VI n;  // the lower bits; those above are of no number
  V more;
};

// 2^(n + offset), for whole sums in [-126, 127]; 0 for -127.
HEADRACE_INLINE V PowerOfTwo(VI n, int offset = 0) {
  return AsFloats(ShiftLeft<23>(n) + BroadcastInt((127 + offset) << 23));
}

// exp(rest) - 1 for |rest| < 0.35: nothing is lost of one that is small. The coefficients are those
// of expf in Cephes.
HEADRACE_INLINE V MoreThanOne(V rest) {
  // By pairs of terms: half the steps wait for one before them.
  const V square = rest * rest;
  const V high = MulAdd(Broadcast(1.9875691500e-4f), rest, Broadcast(1.3981999507e-3f));
  const V middle = MulAdd(Broadcast(8.3334519073e-3f), rest, Broadcast(4.1665795894e-2f));
  const V low = MulAdd(Broadcast(1.6666665459e-1f), rest, Broadcast(5.0000001201e-1f));
  return MulAdd(MulAdd(MulAdd(high, square, middle), square, low), square, rest);
}

constexpr float kLog2E = 1.44269504f;
constexpr float kWholeOnly = 12582912.0f;  // 1.5 * 2^23: added, the lower bits are those of n
// ln(2) = kLn2High + kLn2Low; of a whole n below 2^15, kLn2High * n is exact.
constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;

// x in [-176, 89]; NaN gives a NaN for `more`.
HEADRACE_INLINE Growth Grow(V x) {
  const V shifted = MulAdd(x, Broadcast(kLog2E), Broadcast(kWholeOnly));
  const V n = shifted - Broadcast(kWholeOnly);
  const V rest = MulAdd(n, Broadcast(-kLn2Low), MulAdd(n, Broadcast(-kLn2High), x));
  return {AsInts(shifted), MoreThanOne(rest)};
}

// exp(-scale * x) for scale * x in [0, 20], for who takes it from 1: the further n is from 0, the
// fewer digits of `more` are right, and the fewer the difference shows.
HEADRACE_INLINE Growth Shrink(V x, float scale) {
  const V shifted = MulAdd(x, Broadcast(-scale * kLog2E), Broadcast(kWholeOnly));
  const V n = shifted - Broadcast(kWholeOnly);
  const V rest = MulAdd(n, Broadcast(-0.693147182f), x * Broadcast(-scale));
  return {AsInts(shifted), MoreThanOne(rest)};
}

// exp(x) within 2; 0 and infinity where that is the nearest float.
HEADRACE_INLINE V FullExp(V x) {
  // Of the least x the first factor is 0: where processors round a result to 0, as far below -104,
  // they take longer than for all the rest, and what is masked out is such a number.
  const Growth grown = Grow(AtMost(AtLeast(x, Broadcast(-175.3f)), Broadcast(89.0f)));
  // In two factors: one alone would leave the range.
  const VI half = ShiftRight<1>(grown.n);
  const V power = PowerOfTwo(half);
  return MulAdd(grown.more, power, power) * PowerOfTwo(grown.n - half);
}

// exp(x) within 2 of an x that is not above 0.
HEADRACE_INLINE V ShrinkingExp(V x) {
  const Growth grown = Grow(AtLeast(x, Broadcast(-110.2f)));  // the power is 0, as above
  // Of an n that is never positive one factor may be the same for all.
  const V power = PowerOfTwo(grown.n, 32);
  return MulAdd(grown.more, power, power) * Broadcast(2.32830644e-10f);  // 2^-32
}

// 1 / (1 + exp(-x)) within 3. It goes on falling below -88, through the denormal numbers to 0.
HEADRACE_INLINE V FullSigmoid(V x) {
  const V one = Broadcast(1.0f), size = ShrinkingExp(-Abs(x));
  const VI is_below = AsInts(x) < BroadcastInt(0);
  return Select(is_below, size, one) / (one + size);
}

// tanh(x) within 2: what exp(-2 |x|) is less than 1, of what it is with it.
HEADRACE_INLINE V Tanh(V x) {
  const V one = Broadcast(1.0f);
  const Growth grown = Shrink(AtMost(Abs(x), Broadcast(10.0f)), 2);
  const V power = PowerOfTwo(grown.n);
  const V less = MulAdd(power, -grown.more, one - power);
  return WithSignOf(x, less / MulAdd(power, grown.more, one + power));
}

// log(x) within 2. The coefficients are those of logf in Cephes.
HEADRACE_INLINE V Log(V x) {
  const V zero = Broadcast(0.0f), least = Broadcast(1.17549435e-38f);
  const VI tiny = x < least;
  const V scaled = Select(tiny, x * Broadcast(8388608.0f), x);  // 2^23
  const VI bits = AsInts(scaled);
  // A mantissa in [sqrt(1/2), sqrt(2)), and the exponent that belongs to it.
  const VI offset = bits - BroadcastInt(0x3f3504f3);
  const VI exponent = ShiftRight<23>(offset);
  const V mantissa = AsFloats(bits - ShiftLeft<23>(exponent));
  const V n = ToFloats(exponent) - Select(tiny, Broadcast(23.0f), zero);
  const V r = mantissa - Broadcast(1.0f), square = r * r;
  V sum = MulAdd(Broadcast(7.0376836292e-2f), r, Broadcast(-1.1514610310e-1f));
  sum = MulAdd(sum, r, Broadcast(1.1676998740e-1f));
  sum = MulAdd(sum, r, Broadcast(-1.2420140846e-1f));
  sum = MulAdd(sum, r, Broadcast(1.4249322787e-1f));
  sum = MulAdd(sum, r, Broadcast(-1.6668057665e-1f));
  sum = MulAdd(sum, r, Broadcast(2.0000714765e-1f));
  sum = MulAdd(sum, r, Broadcast(-2.4999993993e-1f));
  sum = MulAdd(sum, r, Broadcast(3.3333331174e-1f));
  V tail = MulAdd(sum * square, r, n * Broadcast(kLn2Low));
  tail = MulAdd(Broadcast(-0.5f), square, tail);
  V result = MulAdd(n, Broadcast(kLn2High), r + tail);
  const V infinity = Broadcast(__builtin_inff());
  result = Select(x == infinity, infinity, result);
  result = Select(x == zero, -infinity, result);
  result = Select(x < zero, Broadcast(__builtin_nanf("")), result);
  return NanOr(x, result);
}

// erf(x) within 3, as 1 - exp(-g): the polynomial was fitted to g / |x| - 1 of doubles, by what an
// error of it is in the result.
HEADRACE_INLINE V Erf(V x) {
  const V size = AtMost(Abs(x), Broadcast(3.93f)), square = size * size;
  V top = MulAdd(Broadcast(0.000117641413f), size, Broadcast(-0.000632837368f));
  top = MulAdd(Broadcast(-9.25628091e-06f), square, top);
  const V high = MulAdd(Broadcast(0.00166702842f), size, Broadcast(-0.000160397051f));
  const V middle = MulAdd(Broadcast(-0.0191530633f), size, Broadcast(0.10277783f));
  const V low = MulAdd(Broadcast(0.636619382f), size, Broadcast(0.12837917f));
  const V sum = MulAdd(MulAdd(MulAdd(top, square, high), square, middle), square, low);
  const Growth grown = Shrink(MulAdd(sum, size, size), 1);
  const V power = PowerOfTwo(grown.n);
  return WithSignOf(x, MulAdd(power, -grown.more, Broadcast(1.0f) - power));
}

// `f` of each, where the machine has no vector function.
template <class F>
HEADRACE_INLINE V OneByOne(V x, F f) {
  float lane[kWidth];
  Store(lane, x);
  for (int i = 0; i < kWidth; ++i) lane[i] = f(lane[i]);
  return Load(lane);
}

constexpr float kHalfPi = 1.57079637f, kHalfPiRest = -4.37113883e-8f;  // together to 2^-52

// asin(root), where square is the square of it, in [0, 0.32].
HEADRACE_INLINE V ArcOf(V root, V square) {
  V sum = MulAdd(Broadcast(0.0481452793f), square, Broadcast(0.00616740761f));
  sum = MulAdd(sum, square, Broadcast(0.0341959447f));
  sum = MulAdd(sum, square, Broadcast(0.0442052521f));
  sum = MulAdd(sum, square, Broadcast(0.0750226825f));
  sum = MulAdd(sum, square, Broadcast(0.166666284f));
  return MulAdd(root * square, sum, root);
}

// What asin and acos have in common: near 0 asin(|x|), else half of acos(|x|), which is that of
// the root of (1 - |x|) / 2. The two meet where twice the latter is below 1, and so finer.
struct Arc {
  VI near;
  V size;
};
HEADRACE_INLINE Arc ArcBy(V x) {
  const V size = Abs(x), half = Broadcast(0.5f);
  const VI near = size < Broadcast(0.5625f);
  const V square = Select(near, x * x, (Broadcast(1.0f) - size) * half);
  return {near, ArcOf(Select(near, size, Sqrt(square)), square)};
}

// asin(x) within 2; NaN beyond 1.
HEADRACE_INLINE V Asin(V x) {
  const Arc arc = ArcBy(x);
  const V far = Broadcast(kHalfPi) - MulAdd(Broadcast(2.0f), arc.size, Broadcast(-kHalfPiRest));
  return WithSignOf(x, Select(arc.near, arc.size, far));
}

// acos(x) within 2; NaN beyond 1.
HEADRACE_INLINE V Acos(V x) {
  const Arc arc = ArcBy(x);
  const V rest = Broadcast(kHalfPiRest), twice = arc.size + arc.size;
  const V near = Broadcast(kHalfPi) - (WithSignOf(x, arc.size) - rest);
  const V opposite = Broadcast(2 * kHalfPi) - (twice - (rest + rest));
  return Select(arc.near, near, Select(x < Broadcast(0.0f), opposite, twice));
}

// atan(x) within 2.
HEADRACE_INLINE V Atan(V x) {
  const V size = Abs(x), one = Broadcast(1.0f);
  const VI far = one < size;
  const V root = Select(far, one / size, size), square = root * root;
  V sum = MulAdd(Broadcast(0.00292067602f), square, Broadcast(-0.0163678657f));
  sum = MulAdd(sum, square, Broadcast(0.0432117656f));
  sum = MulAdd(sum, square, Broadcast(-0.0755220652f));
  sum = MulAdd(sum, square, Broadcast(0.106660016f));
  sum = MulAdd(sum, square, Broadcast(-0.142110541f));
  sum = MulAdd(sum, square, Broadcast(0.199937731f));
  sum = MulAdd(sum, square, Broadcast(-0.333331525f));
  const V arc = MulAdd(root * square, sum, root);
  const V opposite = Broadcast(kHalfPi) - (arc - Broadcast(kHalfPiRest));
  return WithSignOf(x, Select(far, opposite, arc));
}

// Beyond it quarters of the circle cannot be subtracted, nor any where a product is rounded before
// the sum; the library takes over.
constexpr float kFarthest = kFuses ? 1e5f : 0.75f;

// sin(x + kMore quarters of the circle).
template <int kMore>
HEADRACE_INLINE V Sine(V x) {
  if (Bits(Abs(x) < Broadcast(kFarthest)) != 0xffffu) {
    return OneByOne(x, [](float v) { return kMore == 0 ? std::sin(v) : std::cos(v); });
  }
  const V shifted = MulAdd(x, Broadcast(0.636619772f), Broadcast(kWholeOnly));
  const V n = shifted - Broadcast(kWholeOnly);
  V rest = FusedMulAdd(n, Broadcast(-kHalfPi), x);
  rest = FusedMulAdd(n, Broadcast(-kHalfPiRest), rest);
  rest = FusedMulAdd(n, Broadcast(1.71512449e-15f), rest);
  const V square = rest * rest;
  V odd = MulAdd(Broadcast(-1.95149574e-4f), square, Broadcast(8.33215844e-3f));
  odd = MulAdd(odd, square, Broadcast(-0.166666552f));
  V even = MulAdd(Broadcast(2.44327841e-5f), square, Broadcast(-1.38873130e-3f));
  even = MulAdd(even, square, Broadcast(4.16666456e-2f));
  even = MulAdd(even, square, Broadcast(-0.5f));
  const V sine = MulAdd(odd * square, rest, rest), cosine = MulAdd(even, square, Broadcast(1.0f));
  const VI turn = AsInts(shifted) + BroadcastInt(kMore);
  const VI is_odd = BroadcastInt(0) - (turn & BroadcastInt(1));
  const VI sign = ShiftLeft<30>(turn & BroadcastInt(2));
  return AsFloats(AsInts(Select(is_odd, cosine, sine)) ^ sign);
}

// sin(x) within 2, near its zeros as well.
HEADRACE_INLINE V Sin(V x) { return Sine<0>(x); }

// cos(x) within 2.
HEADRACE_INLINE V Cos(V x) { return Sine<1>(x); }

#if defined(__AVX512F__)
#define HEADRACE_ROUND(x, mode) \
  Each<V>([](Part v) { return reinterpret_cast<Part>(_mm512_roundscale_ps(v, mode)); }, x)
#elif defined(__AVX__)
#define HEADRACE_ROUND(x, mode) \
  Each<V>([](Part v) { return reinterpret_cast<Part>(_mm256_round_ps(v, mode)); }, x)
#endif

#if defined(HEADRACE_ROUND)
HEADRACE_INLINE V Floor(V x) { return HEADRACE_ROUND(x, 1); }
HEADRACE_INLINE V Ceil(V x) { return HEADRACE_ROUND(x, 2); }
HEADRACE_INLINE V RoundEven(V x) { return HEADRACE_ROUND(x, 0); }
#undef HEADRACE_ROUND
#else
HEADRACE_INLINE V Floor(V x) {
  return OneByOne(x, [](float v) { return __builtin_floorf(v); });
}
HEADRACE_INLINE V Ceil(V x) {
  return OneByOne(x, [](float v) { return __builtin_ceilf(v); });
}
HEADRACE_INLINE V RoundEven(V x) {
  return OneByOne(x, [](float v) { return __builtin_nearbyintf(v); });
}
#endif

}  // namespace headrace::cpu::HEADRACE_ISA
