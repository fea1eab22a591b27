// Sixteen floats in the registers of the instruction set that a source is compiled for.
//
// Kernels are written once, over `V`: one register of AVX-512, two of AVX2, four of SSE or NEON.
// See isa.h for how a source comes to be compiled for each.
#pragma once

#if !defined(HEADRACE_ISA)
#error "only for sources that are compiled once for each instruction set; see isa.h"
#endif

#include <cmath>
#include <cstring>

#include "kernels/machine/isa.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace headrace::cpu::HEADRACE_ISA {

constexpr int kWidth = 16;  // floats in a V, on every machine

#if defined(__AVX512F__)
constexpr int kLanes = 16;  // floats in a register
constexpr int kRegisters = 32;
#elif defined(__AVX__)
constexpr int kLanes = 8;
constexpr int kRegisters = 16;
#else
constexpr int kLanes = 4;
#if defined(__aarch64__)
constexpr int kRegisters = 32;
#else
constexpr int kRegisters = 16;
#endif
#endif
constexpr int kParts = kWidth / kLanes;

typedef float Part __attribute__((vector_size(kLanes * 4)));
typedef std::int32_t IntPart __attribute__((vector_size(kLanes * 4)));
typedef std::uint32_t UnsignedPart __attribute__((vector_size(kLanes * 4)));
typedef float LoosePart __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef std::int32_t LooseIntPart __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

struct V {
  Part part[kParts];
};

// Sixteen integers; comparisons make them as masks, all ones or all zeros.
struct VI {
  IntPart part[kParts];
};

// Applies `f` register by register.
template <class R, class F, class... A>
HEADRACE_INLINE R Each(F f, const A&... a) {
  R r;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) r.part[i] = f(a.part[i]...);
  return r;
}

HEADRACE_INLINE V Broadcast(float x) {
#if defined(__AVX512F__)
  const Part part = reinterpret_cast<Part>(_mm512_set1_ps(x));
#elif defined(__AVX__)
  const Part part = reinterpret_cast<Part>(_mm256_set1_ps(x));
#else
  const Part part = {x, x, x, x};
#endif
  V r;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) r.part[i] = part;
  return r;
}

HEADRACE_INLINE VI BroadcastInt(std::int32_t x) {
  VI r;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) r.part[i] = IntPart{} + x;
  return r;
}

// No alignment is asked for beyond that of a float.
HEADRACE_INLINE V Load(const float* p) {
  V r;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    r.part[i] = *reinterpret_cast<const LoosePart*>(p + i * kLanes);
  }
  return r;
}

HEADRACE_INLINE void Store(float* p, V v) {
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) *reinterpret_cast<LoosePart*>(p + i * kLanes) = v.part[i];
}

HEADRACE_INLINE VI LoadInt(const std::int32_t* p) {
  VI r;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    r.part[i] = *reinterpret_cast<const LooseIntPart*>(p + i * kLanes);
  }
  return r;
}

HEADRACE_INLINE void StoreInt(std::int32_t* p, VI v) {
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) *reinterpret_cast<LooseIntPart*>(p + i * kLanes) = v.part[i];
}

#if defined(__AVX__) && !defined(__AVX512F__)
// Eight integers from `8 - n` on are the mask of the first n floats of a register.
static const std::int32_t kFirst[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
#endif

// The first `count` floats, 0 to 16, and zeros; nothing beyond them is read.
HEADRACE_INLINE V LoadFirst(const float* p, int count) {
#if defined(__AVX512F__)
  return {{reinterpret_cast<Part>(
      _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1u), p))}};
#elif defined(__AVX__)
  if (count == kWidth) return Load(p);
  const auto some = [](const float* from, int n) {
    const auto* mask = reinterpret_cast<const __m256i*>(kFirst + 8 - n);
    return reinterpret_cast<Part>(_mm256_maskload_ps(from, _mm256_loadu_si256(mask)));
  };
  if (count <= kLanes) return {{some(p, count), Part{}}};
  return {{*reinterpret_cast<const LoosePart*>(p), some(p + kLanes, count - kLanes)}};
#else
  if (count == kWidth) return Load(p);
  float full[kWidth] = {};
  for (int i = 0; i < count; ++i) full[i] = p[i];
  return Load(full);
#endif
}

// Stores the first `count` floats, 0 to 16; nothing beyond them is written.
HEADRACE_INLINE void StoreFirst(float* p, V v, int count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1u),
                        reinterpret_cast<__m512>(v.part[0]));
#elif defined(__AVX__)
  // By halves: a store under a mask is one of forty steps on some machines.
  if (count == kWidth) return Store(p, v);
  Part rest = v.part[0];
  if (count >= 8) {
    *reinterpret_cast<LoosePart*>(p) = rest;
    rest = v.part[1];
    p += 8;
  }
  __m128 low = _mm256_castps256_ps128(reinterpret_cast<__m256>(rest));
  if (count & 4) {
    _mm_storeu_ps(p, low);
    low = _mm256_extractf128_ps(reinterpret_cast<__m256>(rest), 1);
    p += 4;
  }
  if (count & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), low);
    low = _mm_movehl_ps(low, low);
    p += 2;
  }
  if (count & 1) _mm_store_ss(p, low);
#else
  if (count == kWidth) return Store(p, v);
  float full[kWidth];
  Store(full, v);
  for (int i = 0; i < count; ++i) p[i] = full[i];
#endif
}

// How many floats a vector has where `left` are left, one or more.
HEADRACE_INLINE int VectorCount(Size left) {
  return left < kWidth ? static_cast<int>(left) : kWidth;
}

// The first `count` floats, or all sixteen where there are as many.
HEADRACE_INLINE V LoadSome(const float* p, int count) {
  return count >= kWidth ? Load(p) : LoadFirst(p, count);
}

HEADRACE_INLINE void StoreSome(float* p, V v, int count) {
  if (count >= kWidth) {
    Store(p, v);
  } else {
    StoreFirst(p, v, count);
  }
}

HEADRACE_INLINE V operator+(V a, V b) {
  return Each<V>([](Part x, Part y) { return x + y; }, a, b);
}
HEADRACE_INLINE V operator-(V a, V b) {
  return Each<V>([](Part x, Part y) { return x - y; }, a, b);
}
HEADRACE_INLINE V operator*(V a, V b) {
  return Each<V>([](Part x, Part y) { return x * y; }, a, b);
}
HEADRACE_INLINE V operator/(V a, V b) {
  return Each<V>([](Part x, Part y) { return x / y; }, a, b);
}
HEADRACE_INLINE V operator-(V a) {
  return Each<V>([](Part x) { return -x; }, a);
}

// a * b + c, rounded once where the machine can. A function of its own: not every compiler sees the
// two operators as one.
HEADRACE_INLINE V MulAdd(V a, V b, V c) {
  return Each<V>([](Part x, Part y, Part z) { return x * y + z; }, a, b, c);
}

// The same for who counts on it: compilers may leave the other one in two, without optimisation.
// Only where `kFuses`.
#if defined(__AVX512F__)
constexpr bool kFuses = true;
HEADRACE_INLINE V FusedMulAdd(V a, V b, V c) {
  return {{reinterpret_cast<Part>(_mm512_fmadd_ps(a.part[0], b.part[0], c.part[0]))}};
}
#elif defined(__FMA__)
constexpr bool kFuses = true;
HEADRACE_INLINE V FusedMulAdd(V a, V b, V c) {
  return Each<V>(
      [](Part x, Part y, Part z) { return reinterpret_cast<Part>(_mm256_fmadd_ps(x, y, z)); }, a, b,
      c);
}
#else
constexpr bool kFuses = false;
HEADRACE_INLINE V FusedMulAdd(V a, V b, V c) { return MulAdd(a, b, c); }
#endif

HEADRACE_INLINE VI operator<(V a, V b) {
  return Each<VI>([](Part x, Part y) { return reinterpret_cast<IntPart>(x < y); }, a, b);
}
HEADRACE_INLINE VI operator==(V a, V b) {
  return Each<VI>([](Part x, Part y) { return reinterpret_cast<IntPart>(x == y); }, a, b);
}
HEADRACE_INLINE VI operator<(VI a, VI b) {
  return Each<VI>([](IntPart x, IntPart y) { return x < y; }, a, b);
}
HEADRACE_INLINE VI operator&(VI a, VI b) {
  return Each<VI>([](IntPart x, IntPart y) { return x & y; }, a, b);
}
HEADRACE_INLINE VI operator|(VI a, VI b) {
  return Each<VI>([](IntPart x, IntPart y) { return x | y; }, a, b);
}
HEADRACE_INLINE VI operator^(VI a, VI b) {
  return Each<VI>([](IntPart x, IntPart y) { return x ^ y; }, a, b);
}
// Integers wrap around, as the sums of bytes of ONNX do; of signed ones that would be undefined.
HEADRACE_INLINE UnsignedPart Unsigned(IntPart x) { return reinterpret_cast<UnsignedPart>(x); }
HEADRACE_INLINE IntPart Signed(UnsignedPart x) { return reinterpret_cast<IntPart>(x); }
HEADRACE_INLINE VI operator+(VI a, VI b) {
  return Each<VI>([](IntPart x, IntPart y) { return Signed(Unsigned(x) + Unsigned(y)); }, a, b);
}
HEADRACE_INLINE VI operator-(VI a, VI b) {
  return Each<VI>([](IntPart x, IntPart y) { return Signed(Unsigned(x) - Unsigned(y)); }, a, b);
}
HEADRACE_INLINE VI operator*(VI a, VI b) {
  return Each<VI>([](IntPart x, IntPart y) { return Signed(Unsigned(x) * Unsigned(y)); }, a, b);
}
template <int kBits>
HEADRACE_INLINE VI ShiftLeft(VI a) {
  return Each<VI>([](IntPart x) { return Signed(Unsigned(x) << kBits); }, a);
}
// Of the sign, copies move in.
template <int kBits>
HEADRACE_INLINE VI ShiftRight(VI a) {
  return Each<VI>([](IntPart x) { return x >> kBits; }, a);
}

// A bit for each of the sixteen of a mask, the lowest for the first.
HEADRACE_INLINE unsigned Bits(VI mask) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(mask.part[0]));
#else
  unsigned bits = 0;
  for (int i = 0; i < kParts; ++i) {
#if defined(__AVX__)
    const int part = _mm256_movemask_ps(reinterpret_cast<__m256>(mask.part[i]));
#elif defined(__SSE2__)
    const int part = _mm_movemask_ps(reinterpret_cast<__m128>(mask.part[i]));
#else
    int part = 0;
    for (int lane = 0; lane < kLanes; ++lane) part |= (mask.part[i][lane] & 1) << lane;
#endif
    bits |= static_cast<unsigned>(part) << (i * kLanes);
  }
  return bits;
#endif
}

// Where the mask is set the one, elsewhere the other.
HEADRACE_INLINE V Select(VI mask, V yes, V no) {
  return Each<V>([](IntPart m, Part y, Part n) { return m ? y : n; }, mask, yes, no);
}
HEADRACE_INLINE VI Select(VI mask, VI yes, VI no) {
  return Each<VI>([](IntPart m, IntPart y, IntPart n) { return m ? y : n; }, mask, yes, no);
}

HEADRACE_INLINE V AsFloats(VI a) {
  return Each<V>([](IntPart x) { return reinterpret_cast<Part>(x); }, a);
}
HEADRACE_INLINE VI AsInts(V a) {
  return Each<VI>([](Part x) { return reinterpret_cast<IntPart>(x); }, a);
}
HEADRACE_INLINE V ToFloats(VI a) {
  return Each<V>([](IntPart x) { return __builtin_convertvector(x, Part); }, a);
}
// Towards zero; numbers beyond the integers give any integer.
HEADRACE_INLINE VI ToInts(V a) {
  return Each<VI>([](Part x) { return __builtin_convertvector(x, IntPart); }, a);
}

// The larger and the smaller of a number and a bound that is no NaN; a NaN for `x` stays one.
HEADRACE_INLINE V AtLeast(V x, V bound) {
#if defined(__AVX512F__)
  return Each<V>([](Part v, Part b) { return reinterpret_cast<Part>(_mm512_max_ps(b, v)); }, x,
                 bound);
#elif defined(__AVX__)
  return Each<V>([](Part v, Part b) { return reinterpret_cast<Part>(_mm256_max_ps(b, v)); }, x,
                 bound);
#else
  return Select(x < bound, bound, x);
#endif
}
HEADRACE_INLINE V AtMost(V x, V bound) {
#if defined(__AVX512F__)
  return Each<V>([](Part v, Part b) { return reinterpret_cast<Part>(_mm512_min_ps(b, v)); }, x,
                 bound);
#elif defined(__AVX__)
  return Each<V>([](Part v, Part b) { return reinterpret_cast<Part>(_mm256_min_ps(b, v)); }, x,
                 bound);
#else
  return Select(bound < x, bound, x);
#endif
}

HEADRACE_INLINE V Abs(V a) { return AsFloats(AsInts(a) & BroadcastInt(0x7fffffff)); }

HEADRACE_INLINE V Sqrt(V a) {
#if defined(__AVX512F__)
  return Each<V>([](Part x) { return reinterpret_cast<Part>(_mm512_sqrt_ps(x)); }, a);
#elif defined(__AVX__)
  return Each<V>([](Part x) { return reinterpret_cast<Part>(_mm256_sqrt_ps(x)); }, a);
#else
  return Each<V>(
      [](Part x) {
        for (int i = 0; i < kLanes; ++i) x[i] = std::sqrt(x[i]);
        return x;
      },
      a);
#endif
}

// The sum of the sixteen, always in the same order: lane i of the halves is added first.
HEADRACE_INLINE float Sum(V a) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps(reinterpret_cast<__m512>(a.part[0]));  // in the order of the others
#elif defined(__AVX__)
  const auto eight = reinterpret_cast<__m256>(a.part[0] + a.part[1]);
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
#else
  float lane[kWidth];
  Store(lane, a);
  for (int half = kWidth / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  }
  return lane[0];
#endif
}

// The largest of the sixteen, or NaN if one is.
HEADRACE_INLINE float Largest(V a) {
#if defined(__AVX512F__)
  if (Bits(a == a) != 0xffffu) return __builtin_nanf("");
  return _mm512_reduce_max_ps(reinterpret_cast<__m512>(a.part[0]));
#elif defined(__AVX__)
  if (Bits(a == a) != 0xffffu) return __builtin_nanf("");
  const __m256 eight =
      _mm256_max_ps(reinterpret_cast<__m256>(a.part[0]), reinterpret_cast<__m256>(a.part[1]));
  __m128 most = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  most = _mm_max_ps(most, _mm_movehl_ps(most, most));
  return _mm_cvtss_f32(_mm_max_ss(most, _mm_movehdup_ps(most)));
#else
  float lane[kWidth];
  Store(lane, a);
  for (int half = kWidth / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) {
      const float other = lane[i + half];
      lane[i] = (other > lane[i]) | (other != other) ? other : lane[i];
    }
  }
  return lane[0];
#endif
}

// exp(x) for x in [-87, 88], relative error about 2^-23; beyond that the numbers of the nearer end.
HEADRACE_INLINE V Exp(V x) {
  const V rounder = Broadcast(12582912.0f);  // 1.5 * 2^23: adding it leaves no room for a fraction
  x = AtMost(AtLeast(x, Broadcast(-87.0f)), Broadcast(88.0f));
  const V n = MulAdd(x, Broadcast(1.44269504f), rounder) - rounder;
  V rest = MulAdd(n, Broadcast(-0.693359375f), x);  // few bits: the product is exact
  rest = MulAdd(n, Broadcast(2.12194440e-4f), rest);
  V sum = MulAdd(Broadcast(0.00829693582f), rest, Broadcast(0.041920349f));
  sum = MulAdd(sum, rest, Broadcast(0.166676119f));
  sum = MulAdd(sum, rest, Broadcast(0.499988496f));
  sum = MulAdd(sum, rest, Broadcast(0.999999702f));
  sum = MulAdd(sum, rest, Broadcast(1.00000012f));
  return sum * AsFloats(ShiftLeft<23>(ToInts(n) + BroadcastInt(127)));
}

// 1 / x for x in [2^-126, 2^126], relative error about 2^-23; 1 / NaN is NaN.
HEADRACE_INLINE V Reciprocal(V x) {
#if defined(__AVX512F__)
  // A division of sixteen takes four times as long.
  const V guess = {{reinterpret_cast<Part>(_mm512_rcp14_ps(x.part[0]))}};
  return MulAdd(guess, MulAdd(-x, guess, Broadcast(1)), guess);
#else
  return Broadcast(1) / x;
#endif
}

// 1 / (1 + exp(-x)) for any x; NaN stays NaN. Below -87 the result is 1e-38 and falls no more.
HEADRACE_INLINE V Sigmoid(V x) { return Broadcast(1.0f) / (Broadcast(1.0f) + Exp(-x)); }

}  // namespace headrace::cpu::HEADRACE_ISA
