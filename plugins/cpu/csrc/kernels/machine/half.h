// Floats of 16 bits, sixteen of them as floats of 32 and back: float16 and bfloat16.
//
// To nearest, ties to even; denormal numbers are numbers, a NaN stays one and becomes quiet. Every
// instruction set gives the same bits.
#pragma once

#include "kernels/machine/simd.h"

namespace headrace::cpu::HEADRACE_ISA {

HEADRACE_INLINE VI LoadWords(const std::uint16_t* p) {
#if defined(__AVX512F__)
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {{reinterpret_cast<IntPart>(_mm512_cvtepu16_epi32(words))}};
#elif defined(__AVX2__)
  VI r;
  for (int i = 0; i < kParts; ++i) {
    const auto* words = reinterpret_cast<const __m128i*>(p + i * kLanes);
    r.part[i] = reinterpret_cast<IntPart>(_mm256_cvtepu16_epi32(_mm_loadu_si128(words)));
  }
  return r;
#else
  std::int32_t wide[kWidth];
  for (int i = 0; i < kWidth; ++i) wide[i] = p[i];
  return LoadInt(wide);
#endif
}
HEADRACE_INLINE void StoreWords(std::uint16_t* p, VI words) {
#if defined(__AVX512F__)
  const __m256i low = _mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(words.part[0]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), low);
#else
  std::int32_t wide[kWidth];
  StoreInt(wide, words);
  for (int i = 0; i < kWidth; ++i) p[i] = static_cast<std::uint16_t>(wide[i]);
#endif
}

constexpr std::int32_t kMagnitude = 0x7fffffff;
constexpr std::int32_t kInfinity = 0x7f800000;

// Adds what makes cutting off kBits round to nearest, ties to even.
template <int kBits>
HEADRACE_INLINE VI Rounded(VI bits) {
  const VI odd = ShiftRight<kBits>(bits) & BroadcastInt(1);
  return bits + odd + BroadcastInt((1 << (kBits - 1)) - 1);
}

struct Float16 {
  using Item = std::uint16_t;

  static HEADRACE_INLINE V Load(const std::uint16_t* p) {
#if defined(__AVX512F__)
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return {{reinterpret_cast<Part>(_mm512_cvtph_ps(words))}};
#elif defined(__F16C__)
    V r;
    for (int i = 0; i < kParts; ++i) {
      const auto* words = reinterpret_cast<const __m128i*>(p + i * kLanes);
      r.part[i] = reinterpret_cast<Part>(_mm256_cvtph_ps(_mm_loadu_si128(words)));
    }
    return r;
#else
    const VI words = LoadWords(p);
    const VI magnitude = words & BroadcastInt(0x7fff);
    const VI moved = ShiftLeft<13>(magnitude);
    const VI bias = BroadcastInt(112 << 23);  // between the exponents of the two
    const VI normal = moved + bias;
    const VI quiet = (magnitude - BroadcastInt(0x7c01)) & BroadcastInt(1 << 31);
    const VI nan = Select(quiet, BroadcastInt(0), BroadcastInt(1 << 22));
    const VI special = (normal + bias) | nan;
    const VI denormal = AsInts(ToFloats(magnitude) * Broadcast(0x1p-24f));
    VI bits = Select(magnitude < BroadcastInt(0x7c00), normal, special);
    bits = Select(magnitude < BroadcastInt(0x400), denormal, bits);
    return AsFloats(bits | ShiftLeft<16>(words & BroadcastInt(0x8000)));
#endif
  }

  static HEADRACE_INLINE void Store(std::uint16_t* p, V v) {
#if defined(__AVX512F__)
    const __m256i words = _mm512_cvtps_ph(reinterpret_cast<__m512>(v.part[0]),
                                          _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), words);
#elif defined(__F16C__)
    for (int i = 0; i < kParts; ++i) {
      const __m128i words =
          _mm256_cvtps_ph(reinterpret_cast<__m256>(v.part[i]), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p + i * kLanes), words);
    }
#else
    const VI bits = AsInts(v);
    const VI magnitude = bits & BroadcastInt(kMagnitude);
    // Denormal results have a fixed step, 2^-24, which is that of the floats from a half on.
    const VI denormal = AsInts(AsFloats(magnitude) + Broadcast(0.5f)) - AsInts(Broadcast(0.5f));
    VI normal = ShiftRight<13>(Rounded<13>(magnitude) - BroadcastInt(112 << 23));
    normal = Select(normal < BroadcastInt(0x7c00), normal, BroadcastInt(0x7c00));
    const VI payload = ShiftRight<13>(magnitude) & BroadcastInt(0x1ff);
    const VI nan = payload | BroadcastInt(0x7e00);
    VI words = Select(magnitude < BroadcastInt(0x38800000), denormal, normal);
    words = Select(BroadcastInt(kInfinity) < magnitude, nan, words);
    StoreWords(p, words | (ShiftRight<16>(bits) & BroadcastInt(0x8000)));
#endif
  }
};

struct Bfloat16 {
  using Item = std::uint16_t;

  static HEADRACE_INLINE V Load(const std::uint16_t* p) {
    return AsFloats(ShiftLeft<16>(LoadWords(p)));
  }

  static HEADRACE_INLINE void Store(std::uint16_t* p, V v) {
    const VI bits = AsInts(v);
    const VI quiet = bits | BroadcastInt(1 << 22);
    const VI nan = BroadcastInt(kInfinity) < (bits & BroadcastInt(kMagnitude));
    StoreWords(p, ShiftRight<16>(Select(nan, quiet, Rounded<16>(bits))));
  }
};

// A float as the nearest one that a type of 16 bits has.
template <class Half>
HEADRACE_INLINE V RoundTo(V v) {
  std::uint16_t words[kWidth];
  Half::Store(words, v);
  return Half::Load(words);
}

}  // namespace headrace::cpu::HEADRACE_ISA
