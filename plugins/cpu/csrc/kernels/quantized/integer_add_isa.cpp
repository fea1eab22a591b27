#include "kernels/machine/quantize.h"
#include "kernels/machine/simd.h"
#include "kernels/quantized/integer_add.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

template <class T>
HEADRACE_INLINE V LoadFloats(const std::uint8_t* p) {
  return ToFloats(LoadBytes<T>(p));
}

template <class A, class B>
void SomeOf(const ByteSum& sum, Size begin, Size end) {
  const V a_factor = Broadcast(sum.a_factor), b_factor = Broadcast(sum.b_factor);
  const V offset = Broadcast(sum.offset), low = Broadcast(sum.low), high = Broadcast(sum.high);
  const VI zero = BroadcastInt(sum.zero);
  const auto sixteen = [=](const std::uint8_t* a, const std::uint8_t* b) HEADRACE_INLINE_LAMBDA {
    const V part = MulAdd(LoadFloats<B>(b), b_factor, offset);
    const V v = MulAdd(LoadFloats<A>(a), a_factor, part);
    return NearestInts(AtMost(AtLeast(v, low), high)) + zero;
  };
  const std::uint8_t *a = sum.a, *b = sum.b;
  std::uint8_t* y = sum.y;
  Size i = begin;
  for (; i + kWidth <= end; i += kWidth) StoreBytes(y + i, sixteen(a + i, b + i), kWidth);
  if (i == end) return;
  std::uint8_t rest_a[kWidth] = {}, rest_b[kWidth] = {};
  std::memcpy(rest_a, a + i, static_cast<std::size_t>(end - i));
  std::memcpy(rest_b, b + i, static_cast<std::size_t>(end - i));
  StoreBytes(y + i, sixteen(rest_a, rest_b), static_cast<int>(end - i));
}

template <class A>
void Some(const ByteSum& sum, Size begin, Size end) {
  if (sum.b_item == Byte::kInt8) return SomeOf<A, std::int8_t>(sum, begin, end);
  SomeOf<A, std::uint8_t>(sum, begin, end);
}

void Some(const ByteSum& sum, Size begin, Size end) {
  if (sum.a_item == Byte::kInt8) return Some<std::int8_t>(sum, begin, end);
  Some<std::uint8_t>(sum, begin, end);
}

}  // namespace

extern const ByteSumTable kByteSums = {Some};

}  // namespace headrace::cpu::HEADRACE_ISA
