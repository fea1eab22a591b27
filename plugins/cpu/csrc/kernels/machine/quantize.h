// Floats to small integers, as the op `quantize` has it: round(x / scale) + zero, halves to even,
// kept within their range; NaN is 0.
#pragma once

#include "kernels/machine/simd.h"
#include "kernels/machine/vmath.h"

namespace headrace::cpu::HEADRACE_ISA {

// Sixteen bytes, signed if T is.
template <class T>
HEADRACE_INLINE VI LoadBytes(const std::uint8_t* p) {
  [[maybe_unused]] constexpr bool kSigned = T(-1) < T(0);
  VI r;
#if defined(__AVX512F__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  r.part[0] = reinterpret_cast<IntPart>(kSigned ? _mm512_cvtepi8_epi32(bytes)
                                                : _mm512_cvtepu8_epi32(bytes));
#elif defined(__AVX2__)
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 8 * i));
    r.part[i] = reinterpret_cast<IntPart>(kSigned ? _mm256_cvtepi8_epi32(bytes)
                                                  : _mm256_cvtepu8_epi32(bytes));
  }
#else
  typedef T Bytes __attribute__((vector_size(kLanes)));
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    Bytes bytes;
    std::memcpy(&bytes, p + i * kLanes, sizeof bytes);
    r.part[i] = __builtin_convertvector(bytes, IntPart);
  }
#endif
  return r;
}

// The first `count` of sixteen integers as the bytes that they fit in.
HEADRACE_INLINE void StoreBytes(std::uint8_t* p, VI x, int count) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(x.part[0]));
#elif defined(__AVX2__)
  const __m256i low = _mm256_set1_epi32(255);
  const __m256i left = _mm256_and_si256(reinterpret_cast<__m256i>(x.part[0]), low);
  const __m256i right = _mm256_and_si256(reinterpret_cast<__m256i>(x.part[1]), low);
  const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi32(left, right), 0xd8);
  const __m128i bytes =
      _mm_packus_epi16(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
#elif defined(__SSE2__)
  const auto part = [&](int i) {
    return _mm_and_si128(reinterpret_cast<__m128i>(x.part[i]), _mm_set1_epi32(255));
  };
  const __m128i bytes =
      _mm_packus_epi16(_mm_packs_epi32(part(0), part(1)), _mm_packs_epi32(part(2), part(3)));
#endif
#if defined(__SSE2__)
  if (count >= kWidth) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
    return;
  }
  std::uint8_t all[kWidth];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(all), bytes);
#else
  std::int32_t all[kWidth];
  StoreInt(all, x);
#endif
  const int some = count < kWidth ? count : kWidth;
  for (int i = 0; i < some; ++i) p[i] = static_cast<std::uint8_t>(all[i]);
}

// To the nearest integers, halves to even; of floats that are no larger than integers can be.
HEADRACE_INLINE VI NearestInts(V a) {
#if defined(__AVX512F__)
  return {{reinterpret_cast<IntPart>(_mm512_cvtps_epi32(reinterpret_cast<__m512>(a.part[0])))}};
#elif defined(__AVX__)
  return Each<VI>(
      [](Part x) {
        return reinterpret_cast<IntPart>(_mm256_cvtps_epi32(reinterpret_cast<__m256>(x)));
      },
      a);
#elif defined(__SSE2__)
  return Each<VI>(
      [](Part x) {
        return reinterpret_cast<IntPart>(_mm_cvtps_epi32(reinterpret_cast<__m128>(x)));
      },
      a);
#else
  return ToInts(RoundEven(a));
#endif
}

// Of a quotient that is rounded already: the whole number within the range, as a float.
HEADRACE_INLINE V Kept(V rounded, V zero, V low, V high) {
  const V y = AtMost(AtLeast(rounded + zero, low), high);
  return Select(y == y, y, Broadcast(0));
}

HEADRACE_INLINE VI ToByte(V rounded, V zero, V low, V high) {
  return ToInts(Kept(rounded, zero, low, high));
}

// By one scale and zero point.
class Quantizer {
 public:
  // `zero` is a byte, signed or not, or null.
  HEADRACE_INLINE Quantizer(float scale, const void* zero, bool is_signed)
      : scale_(Broadcast(scale)),
        inverse_(Broadcast(1 / scale)),
        low_(Broadcast(is_signed ? -128.0f : 0.0f)),
        high_(Broadcast(is_signed ? 127.0f : 255.0f)) {
    float point = 0;
    if (zero != nullptr) {
      point = is_signed ? static_cast<float>(*static_cast<const std::int8_t*>(zero))
                        : static_cast<float>(*static_cast<const std::uint8_t*>(zero));
    }
    zero_ = Broadcast(point);
    const float size = scale < 0 ? -scale : scale;
    is_plain_ = size > 1e-30f && size < 1e30f;
  }

  HEADRACE_INLINE VI operator()(V x) const {
    return ToByte(RoundEven(Quotient(x)), zero_, low_, high_);
  }

 private:
  // x / scale, rounded once. Where a product and a sum are rounded as one, a guess by the rounded
  // inverse is right after one correction (Markstein), and takes a fourth of the time of a
  // division.
  HEADRACE_INLINE V Quotient(V x) const {
    if (kFuses && is_plain_) {
      const V guess = x * inverse_;
      const V rest = FusedMulAdd(-guess, scale_, x);
      const V right = FusedMulAdd(rest, inverse_, guess);
      return Select(Abs(guess) < Broadcast(1e30f), right, guess);
    }
    return x / scale_;
  }

  V scale_, inverse_, low_, high_, zero_;
  bool is_plain_;
};

}  // namespace headrace::cpu::HEADRACE_ISA
