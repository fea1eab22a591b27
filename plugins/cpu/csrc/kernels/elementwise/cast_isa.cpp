#include <cstring>

#include "kernels/elementwise/cast.h"
#include "kernels/machine/half.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// A byte of its own type, which a cast makes 0 or 1.
enum Bool : std::uint8_t {};

// Integers: the least number, and the first one beyond; both are exact in every float.
template <class T>
struct Range;
template <>
struct Range<std::int8_t> {
  static constexpr float kLow = -128, kBeyond = 128;
};
template <>
struct Range<std::uint8_t> {
  static constexpr float kLow = 0, kBeyond = 256;
};
template <>
struct Range<std::int32_t> {
  static constexpr float kLow = -2147483648.0f, kBeyond = 2147483648.0f;
};
template <>
struct Range<std::int64_t> {
  static constexpr float kLow = -9223372036854775808.0f, kBeyond = 9223372036854775808.0f;
};

// Towards zero and kept within the range; NaN is 0.
template <class To, class From>
HEADRACE_INLINE To Cut(From x) {
  const From low = Range<To>::kLow, beyond = Range<To>::kBeyond;
  x = x == x ? x : 0;
  x = x < low ? low : x;
  const bool is_beyond = x >= beyond;
  x = is_beyond ? 0 : x;
  // Bytes are cut as wider integers, which there is an instruction for.
  To cut;
  if (sizeof(To) < 4) {
    cut = static_cast<To>(static_cast<std::int32_t>(x));
  } else {
    cut = static_cast<To>(x);
  }
  constexpr To kMost = static_cast<To>(
      Range<To>::kLow == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * sizeof(To) - 1)) - 1);
  return is_beyond ? kMost : cut;
}

template <class From, class To>
struct Convert {
  static HEADRACE_INLINE To Of(From x) { return static_cast<To>(x); }
};
template <class From>
struct Convert<From, Bool> {
  static HEADRACE_INLINE Bool Of(From x) { return static_cast<Bool>(x != 0); }
};
#define HEADRACE_CUT(FROM, TO)                                  \
  template <>                                                   \
  struct Convert<FROM, TO> {                                    \
    static HEADRACE_INLINE TO Of(FROM x) { return Cut<TO>(x); } \
  };
HEADRACE_CUT(float, std::int8_t)
HEADRACE_CUT(float, std::uint8_t)
HEADRACE_CUT(float, std::int32_t)
HEADRACE_CUT(double, std::int8_t)
HEADRACE_CUT(double, std::uint8_t)
HEADRACE_CUT(double, std::int32_t)
#undef HEADRACE_CUT

template <class From, class To>
void Loop(const void* x, void* y, Size count) {
  const auto* from = static_cast<const From*>(x);
  auto* to = static_cast<To*>(y);
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < count; ++i) to[i] = Convert<From, To>::Of(from[i]);
}

// Indices are far from the ends of 64 bits, and machines before AVX-512 cut vectors to 32 only.
template <class From>
HEADRACE_INLINE void CutToLong(const From* from, std::int64_t* to, Size count) {
  constexpr Size kBlock = 64;
  Size i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    std::int32_t is_far = 0;
    for (Size j = i; j < i + kBlock; ++j) {
      is_far |= !((from[j] >= From{-2147483648.0f}) & (from[j] < From{2147483648.0f}));
    }
    if (is_far != 0) {
      for (Size j = i; j < i + kBlock; ++j) to[j] = Cut<std::int64_t>(from[j]);
      continue;
    }
    HEADRACE_NO_ALIAS_LOOP
    for (Size j = i; j < i + kBlock; ++j) to[j] = static_cast<std::int32_t>(from[j]);
  }
  for (; i < count; ++i) to[i] = Cut<std::int64_t>(from[i]);
}

template <>
void Loop<float, std::int64_t>(const void* x, void* y, Size count) {
  CutToLong(static_cast<const float*>(x), static_cast<std::int64_t*>(y), count);
}
template <>
void Loop<double, std::int64_t>(const void* x, void* y, Size count) {
  CutToLong(static_cast<const double*>(x), static_cast<std::int64_t*>(y), count);
}

template <class T>
constexpr bool kIsFloat = false;
template <>
constexpr bool kIsFloat<float> = true;

// By way of floats, which hold every half.
template <class Half, class To>
void FromHalf(const void* x, void* y, Size count) {
  constexpr Size kBlock = 16 * kWidth;
  const auto* from = static_cast<const std::uint16_t*>(x);
  auto* to = static_cast<To*>(y);
  for (Size begin = 0; begin < count; begin += kBlock) {
    const Size left = count - begin, size = left < kBlock ? left : kBlock;
    const Size whole = size / kWidth * kWidth;
    float between[kBlock];
    float* wide = between;
    if constexpr (kIsFloat<To>) wide = to + begin;
    for (Size i = 0; i < whole; i += kWidth) Store(wide + i, Half::Load(from + begin + i));
    if (whole < size) {
      std::uint16_t rest[kWidth] = {};
      std::memcpy(rest, from + begin + whole,
                  static_cast<std::size_t>(size - whole) * sizeof *rest);
      StoreSome(wide + whole, Half::Load(rest), static_cast<int>(size - whole));
    }
    if constexpr (!kIsFloat<To>) Loop<float, To>(wide, to + begin, size);
  }
}

#define HEADRACE_HALF_CASTS(HALF)                                                            \
  {FromHalf<HALF, Bool>,         FromHalf<HALF, std::int8_t>,  FromHalf<HALF, std::uint8_t>, \
   FromHalf<HALF, std::int32_t>, FromHalf<HALF, std::int64_t>, FromHalf<HALF, float>,        \
   FromHalf<HALF, double>}
#define HEADRACE_CASTS(FROM)                                                     \
  {Loop<FROM, Bool>,         Loop<FROM, std::int8_t>,  Loop<FROM, std::uint8_t>, \
   Loop<FROM, std::int32_t>, Loop<FROM, std::int64_t>, Loop<FROM, float>,        \
   Loop<FROM, double>}

}  // namespace

extern const CastTable kCasts = {
    {HEADRACE_CASTS(Bool), HEADRACE_CASTS(std::int8_t), HEADRACE_CASTS(std::uint8_t),
     HEADRACE_CASTS(std::int32_t), HEADRACE_CASTS(std::int64_t), HEADRACE_CASTS(float),
     HEADRACE_CASTS(double), HEADRACE_HALF_CASTS(Float16), HEADRACE_HALF_CASTS(Bfloat16)}};
#undef HEADRACE_CASTS
#undef HEADRACE_HALF_CASTS

}  // namespace headrace::cpu::HEADRACE_ISA
