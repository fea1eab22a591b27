// Registers of bytes, by the instruction set: loads, interleaving, sums of four products, rounding.
// `Reg` has kBytes bytes, or half as many numbers of 16 bits, or a quarter of 32.
#pragma once

#include <cstdint>
#include <cstring>

#include "simd.h"

namespace headrace::cpu::HEADRACE_ISA {

#if defined(__AVX512BW__)
constexpr int kBytes = 64;
typedef IntPart Reg;
HEADRACE_INLINE __m512i Bits(Reg x) { return reinterpret_cast<__m512i>(x); }
HEADRACE_INLINE Reg Ints(__m512i x) { return reinterpret_cast<Reg>(x); }
HEADRACE_INLINE __mmask64 First(int count) { return ~__mmask64{0} >> (64 - count); }

HEADRACE_INLINE Reg LoadWhole(const void* p) { return Ints(_mm512_loadu_si512(p)); }
HEADRACE_INLINE Reg LoadBytes(const std::uint8_t* p, int count) {
  return count >= kBytes ? LoadWhole(p) : Ints(_mm512_maskz_loadu_epi8(First(count), p));
}
HEADRACE_INLINE void StoreWhole(void* p, Reg x) { _mm512_storeu_si512(p, Bits(x)); }
HEADRACE_INLINE void StoreBytesOf(std::uint8_t* p, Reg x, int count) {
  if (count >= kBytes) return StoreWhole(p, x);
  _mm512_mask_storeu_epi8(p, First(count), Bits(x));
}
HEADRACE_INLINE Reg Fill8(int x) { return Ints(_mm512_set1_epi8(static_cast<char>(x))); }
HEADRACE_INLINE Reg Fill16(int x) { return Ints(_mm512_set1_epi16(static_cast<short>(x))); }
HEADRACE_INLINE Reg Low8(Reg a, Reg b) { return Ints(_mm512_unpacklo_epi8(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg High8(Reg a, Reg b) { return Ints(_mm512_unpackhi_epi8(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg Low16(Reg a, Reg b) { return Ints(_mm512_unpacklo_epi16(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg High16(Reg a, Reg b) { return Ints(_mm512_unpackhi_epi16(Bits(a), Bits(b))); }
#if defined(__AVX512VNNI__)
HEADRACE_INLINE Reg MulAdd(Reg bytes, Reg weights, Reg sum) {
  return Ints(_mm512_dpbusd_epi32(Bits(sum), Bits(bytes), Bits(weights)));
}
#else
HEADRACE_INLINE Reg MulAdd(Reg bytes, Reg weights, Reg sum) {
  const __m512i even = _mm512_and_si512(Bits(bytes), _mm512_set1_epi16(255));
  const __m512i odd = _mm512_srli_epi16(Bits(bytes), 8);
  const __m512i even_weights = _mm512_srai_epi16(_mm512_slli_epi16(Bits(weights), 8), 8);
  const __m512i odd_weights = _mm512_srai_epi16(Bits(weights), 8);
  return sum + Ints(_mm512_madd_epi16(even, even_weights)) +
         Ints(_mm512_madd_epi16(odd, odd_weights));
}
#endif
HEADRACE_INLINE Reg Rounded(Reg sum, const float* factors, float low, float high) {
  const __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(Bits(sum)), _mm512_loadu_ps(factors));
  return Ints(_mm512_cvtps_epi32(
      _mm512_min_ps(_mm512_max_ps(v, _mm512_set1_ps(low)), _mm512_set1_ps(high))));
}
HEADRACE_INLINE Reg Pack32(Reg a, Reg b) { return Ints(_mm512_packs_epi32(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg Add16(Reg a, Reg b) { return Ints(_mm512_add_epi16(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg Pack16(Reg a, Reg b, bool is_signed) {
  return Ints(is_signed ? _mm512_packs_epi16(Bits(a), Bits(b))
                        : _mm512_packus_epi16(Bits(a), Bits(b)));
}
#elif defined(__AVX2__)
constexpr int kBytes = 32;
typedef IntPart Reg;
HEADRACE_INLINE __m256i Bits(Reg x) { return reinterpret_cast<__m256i>(x); }
HEADRACE_INLINE Reg Ints(__m256i x) { return reinterpret_cast<Reg>(x); }

HEADRACE_INLINE Reg LoadWhole(const void* p) {
  return Ints(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
HEADRACE_INLINE void StoreWhole(void* p, Reg x) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), Bits(x));
}
HEADRACE_INLINE Reg Fill8(int x) { return Ints(_mm256_set1_epi8(static_cast<char>(x))); }
HEADRACE_INLINE Reg Fill16(int x) { return Ints(_mm256_set1_epi16(static_cast<short>(x))); }
HEADRACE_INLINE Reg Low8(Reg a, Reg b) { return Ints(_mm256_unpacklo_epi8(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg High8(Reg a, Reg b) { return Ints(_mm256_unpackhi_epi8(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg Low16(Reg a, Reg b) { return Ints(_mm256_unpacklo_epi16(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg High16(Reg a, Reg b) { return Ints(_mm256_unpackhi_epi16(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg MulAdd(Reg bytes, Reg weights, Reg sum) {
  const __m256i even = _mm256_and_si256(Bits(bytes), _mm256_set1_epi16(255));
  const __m256i odd = _mm256_srli_epi16(Bits(bytes), 8);
  const __m256i even_weights = _mm256_srai_epi16(_mm256_slli_epi16(Bits(weights), 8), 8);
  const __m256i odd_weights = _mm256_srai_epi16(Bits(weights), 8);
  return sum + Ints(_mm256_madd_epi16(even, even_weights)) +
         Ints(_mm256_madd_epi16(odd, odd_weights));
}
HEADRACE_INLINE Reg Rounded(Reg sum, const float* factors, float low, float high) {
  const __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(Bits(sum)), _mm256_loadu_ps(factors));
  return Ints(_mm256_cvtps_epi32(
      _mm256_min_ps(_mm256_max_ps(v, _mm256_set1_ps(low)), _mm256_set1_ps(high))));
}
HEADRACE_INLINE Reg Pack32(Reg a, Reg b) { return Ints(_mm256_packs_epi32(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg Add16(Reg a, Reg b) { return Ints(_mm256_add_epi16(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg Pack16(Reg a, Reg b, bool is_signed) {
  return Ints(is_signed ? _mm256_packs_epi16(Bits(a), Bits(b))
                        : _mm256_packus_epi16(Bits(a), Bits(b)));
}
#elif defined(__SSE2__)
constexpr int kBytes = 16;
typedef IntPart Reg;
HEADRACE_INLINE __m128i Bits(Reg x) { return reinterpret_cast<__m128i>(x); }
HEADRACE_INLINE Reg Ints(__m128i x) { return reinterpret_cast<Reg>(x); }

HEADRACE_INLINE Reg LoadWhole(const void* p) {
  return Ints(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
HEADRACE_INLINE void StoreWhole(void* p, Reg x) {
  _mm_storeu_si128(static_cast<__m128i*>(p), Bits(x));
}
HEADRACE_INLINE Reg Fill8(int x) { return Ints(_mm_set1_epi8(static_cast<char>(x))); }
HEADRACE_INLINE Reg Fill16(int x) { return Ints(_mm_set1_epi16(static_cast<short>(x))); }
HEADRACE_INLINE Reg Low8(Reg a, Reg b) { return Ints(_mm_unpacklo_epi8(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg High8(Reg a, Reg b) { return Ints(_mm_unpackhi_epi8(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg Low16(Reg a, Reg b) { return Ints(_mm_unpacklo_epi16(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg High16(Reg a, Reg b) { return Ints(_mm_unpackhi_epi16(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg MulAdd(Reg bytes, Reg weights, Reg sum) {
  const __m128i even = _mm_and_si128(Bits(bytes), _mm_set1_epi16(255));
  const __m128i odd = _mm_srli_epi16(Bits(bytes), 8);
  const __m128i even_weights = _mm_srai_epi16(_mm_slli_epi16(Bits(weights), 8), 8);
  const __m128i odd_weights = _mm_srai_epi16(Bits(weights), 8);
  return sum + Ints(_mm_madd_epi16(even, even_weights)) + Ints(_mm_madd_epi16(odd, odd_weights));
}
HEADRACE_INLINE Reg Rounded(Reg sum, const float* factors, float low, float high) {
  const __m128 v = _mm_mul_ps(_mm_cvtepi32_ps(Bits(sum)), _mm_loadu_ps(factors));
  return Ints(_mm_cvtps_epi32(_mm_min_ps(_mm_max_ps(v, _mm_set1_ps(low)), _mm_set1_ps(high))));
}
HEADRACE_INLINE Reg Pack32(Reg a, Reg b) { return Ints(_mm_packs_epi32(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg Add16(Reg a, Reg b) { return Ints(_mm_add_epi16(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg Pack16(Reg a, Reg b, bool is_signed) {
  return Ints(is_signed ? _mm_packs_epi16(Bits(a), Bits(b)) : _mm_packus_epi16(Bits(a), Bits(b)));
}
#else
constexpr int kBytes = 16;
typedef std::int32_t Reg __attribute__((vector_size(16)));
typedef std::uint8_t Bytes16 __attribute__((vector_size(16)));
typedef std::int16_t Shorts8 __attribute__((vector_size(16)));

HEADRACE_INLINE Reg LoadWhole(const void* p) {
  Reg r;
  std::memcpy(&r, p, sizeof r);
  return r;
}
HEADRACE_INLINE void StoreWhole(void* p, Reg x) { std::memcpy(p, &x, sizeof x); }
HEADRACE_INLINE Reg Fill8(int x) {
  return reinterpret_cast<Reg>(Bytes16{} + static_cast<std::uint8_t>(x));
}
HEADRACE_INLINE Reg Fill16(int x) {
  return reinterpret_cast<Reg>(Shorts8{} + static_cast<std::int16_t>(x));
}
// Halves of two registers in turns, items of type T.
template <class T>
HEADRACE_INLINE Reg Zip(Reg a, Reg b, int first) {
  constexpr int kItems = 16 / sizeof(T);
  T from_a[kItems], from_b[kItems], made[kItems];
  StoreWhole(from_a, a);
  StoreWhole(from_b, b);
  for (int i = 0; i < kItems / 2; ++i) {
    made[2 * i] = from_a[first + i];
    made[2 * i + 1] = from_b[first + i];
  }
  return LoadWhole(made);
}
HEADRACE_INLINE Reg Low8(Reg a, Reg b) { return Zip<std::uint8_t>(a, b, 0); }
HEADRACE_INLINE Reg High8(Reg a, Reg b) { return Zip<std::uint8_t>(a, b, 8); }
HEADRACE_INLINE Reg Low16(Reg a, Reg b) { return Zip<std::int16_t>(a, b, 0); }
HEADRACE_INLINE Reg High16(Reg a, Reg b) { return Zip<std::int16_t>(a, b, 4); }
HEADRACE_INLINE Reg MulAdd(Reg bytes, Reg weights, Reg sum) {
  std::uint8_t x[16];
  std::int8_t w[16];
  StoreWhole(x, bytes);
  StoreWhole(w, weights);
  for (int c = 0; c < 4; ++c) {
    for (int t = 0; t < 4; ++t) sum[c] += x[4 * c + t] * w[4 * c + t];
  }
  return sum;
}
HEADRACE_INLINE Reg Rounded(Reg sum, const float* factors, float low, float high) {
  for (int c = 0; c < 4; ++c) {
    const float v = static_cast<float>(sum[c]) * factors[c];
    const float kept = v < low ? low : v > high ? high : v;
    sum[c] = static_cast<std::int32_t>(__builtin_rintf(kept));
  }
  return sum;
}
HEADRACE_INLINE Reg Pack32(Reg a, Reg b) {
  std::int16_t made[8];
  for (int i = 0; i < 4; ++i) {
    made[i] = static_cast<std::int16_t>(a[i]);
    made[4 + i] = static_cast<std::int16_t>(b[i]);
  }
  return LoadWhole(made);
}
HEADRACE_INLINE Reg Add16(Reg a, Reg b) {
  return reinterpret_cast<Reg>(reinterpret_cast<Shorts8>(a) + reinterpret_cast<Shorts8>(b));
}
HEADRACE_INLINE Reg Pack16(Reg a, Reg b, bool) {
  std::int16_t from[16];
  std::uint8_t made[16];
  StoreWhole(from, a);
  StoreWhole(from + 8, b);
  for (int i = 0; i < 16; ++i) made[i] = static_cast<std::uint8_t>(from[i]);
  return LoadWhole(made);
}
#endif

#if !defined(__AVX512BW__)
HEADRACE_INLINE Reg LoadBytes(const std::uint8_t* p, int count) {
  if (count >= kBytes) return LoadWhole(p);
  std::uint8_t all[kBytes] = {};
  std::memcpy(all, p, static_cast<std::size_t>(count));
  return LoadWhole(all);
}
HEADRACE_INLINE void StoreBytesOf(std::uint8_t* p, Reg x, int count) {
  if (count >= kBytes) return StoreWhole(p, x);
  std::uint8_t all[kBytes];
  StoreWhole(all, x);
  std::memcpy(p, all, static_cast<std::size_t>(count));
}
#endif

}  // namespace headrace::cpu::HEADRACE_ISA
