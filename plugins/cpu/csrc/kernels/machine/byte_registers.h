// Registers of bytes, by the instruction set: loads, interleaving, sums of four products, rounding.
// `Reg` has kBytes bytes, or half as many numbers of 16 bits, or a quarter of 32.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/machine/x86.h"

namespace headrace::cpu::HEADRACE_ISA {

#if defined(__SSE2__)
constexpr int kBytes = 4 * kLanes;
typedef IntPart Reg;
// Bytes begin at any address, not where a number of 32 bits may.
typedef std::int32_t LooseReg __attribute__((vector_size(kBytes), aligned(1), may_alias));

HEADRACE_INLINE Reg LoadWhole(const void* p) { return *static_cast<const LooseReg*>(p); }
HEADRACE_INLINE void StoreWhole(void* p, Reg x) { *static_cast<LooseReg*>(p) = x; }
HEADRACE_INLINE Reg Fill8(int x) { return Ints(HEADRACE_X86(set1_epi8)(static_cast<char>(x))); }
HEADRACE_INLINE Reg Fill16(int x) { return Ints(HEADRACE_X86(set1_epi16)(static_cast<short>(x))); }
HEADRACE_INLINE Reg Low8(Reg a, Reg b) {
  return Ints(HEADRACE_X86(unpacklo_epi8)(Bits(a), Bits(b)));
}
HEADRACE_INLINE Reg High8(Reg a, Reg b) {
  return Ints(HEADRACE_X86(unpackhi_epi8)(Bits(a), Bits(b)));
}
HEADRACE_INLINE Reg Low16(Reg a, Reg b) {
  return Ints(HEADRACE_X86(unpacklo_epi16)(Bits(a), Bits(b)));
}
HEADRACE_INLINE Reg High16(Reg a, Reg b) {
  return Ints(HEADRACE_X86(unpackhi_epi16)(Bits(a), Bits(b)));
}
HEADRACE_INLINE Reg Pack32(Reg a, Reg b) {
  return Ints(HEADRACE_X86(packs_epi32)(Bits(a), Bits(b)));
}
HEADRACE_INLINE Reg Add16(Reg a, Reg b) { return Ints(HEADRACE_X86(add_epi16)(Bits(a), Bits(b))); }
HEADRACE_INLINE Reg Pack16(Reg a, Reg b, bool is_signed) {
  return Ints(is_signed ? HEADRACE_X86(packs_epi16)(Bits(a), Bits(b))
                        : HEADRACE_X86(packus_epi16)(Bits(a), Bits(b)));
}
HEADRACE_INLINE Reg MulAdd(Reg bytes, Reg weights, Reg sum) {
#if defined(__AVX512VNNI__)
  return Ints(_mm512_dpbusd_epi32(Bits(sum), Bits(bytes), Bits(weights)));
#else
  const X86Ints even = Bits(bytes) & HEADRACE_X86(set1_epi16)(255);
  const X86Ints odd = HEADRACE_X86(srli_epi16)(Bits(bytes), 8);
  const X86Ints even_weights =
      HEADRACE_X86(srai_epi16)(HEADRACE_X86(slli_epi16)(Bits(weights), 8), 8);
  const X86Ints odd_weights = HEADRACE_X86(srai_epi16)(Bits(weights), 8);
  return sum + Ints(HEADRACE_X86(madd_epi16)(even, even_weights)) +
         Ints(HEADRACE_X86(madd_epi16)(odd, odd_weights));
#endif
}
HEADRACE_INLINE Reg Rounded(Reg sum, const float* factors, float low, float high) {
  const X86Floats v = HEADRACE_X86(cvtepi32_ps)(Bits(sum)) * HEADRACE_X86(loadu_ps)(factors);
  return Ints(HEADRACE_X86(cvtps_epi32)(HEADRACE_X86(min_ps)(
      HEADRACE_X86(max_ps)(v, HEADRACE_X86(set1_ps)(low)), HEADRACE_X86(set1_ps)(high))));
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

// The first `count` bytes, one or more, or all where there are as many; nothing beyond them is read
// or written.
#if defined(__AVX512BW__)
HEADRACE_INLINE __mmask64 First(int count) { return ~__mmask64{0} >> (64 - count); }

HEADRACE_INLINE Reg LoadSomeBytes(const std::uint8_t* p, int count) {
  return count >= kBytes ? LoadWhole(p) : Ints(_mm512_maskz_loadu_epi8(First(count), p));
}
HEADRACE_INLINE void StoreSomeBytes(std::uint8_t* p, Reg x, int count) {
  if (count >= kBytes) return StoreWhole(p, x);
  _mm512_mask_storeu_epi8(p, First(count), Bits(x));
}
#else
HEADRACE_INLINE Reg LoadSomeBytes(const std::uint8_t* p, int count) {
  if (count >= kBytes) return LoadWhole(p);
  std::uint8_t all[kBytes] = {};
  std::memcpy(all, p, static_cast<std::size_t>(count));
  return LoadWhole(all);
}
HEADRACE_INLINE void StoreSomeBytes(std::uint8_t* p, Reg x, int count) {
  if (count >= kBytes) return StoreWhole(p, x);
  std::uint8_t all[kBytes];
  StoreWhole(all, x);
  std::memcpy(p, all, static_cast<std::size_t>(count));
}
#endif

}  // namespace headrace::cpu::HEADRACE_ISA
