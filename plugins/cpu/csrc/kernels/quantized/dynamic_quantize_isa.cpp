#include "kernels/machine/quantize.h"
#include "kernels/quantized/dynamic_quantize.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

HEADRACE_INLINE V Lesser(V x, V least) { return NanOr(x, AtMost(least, x)); }
HEADRACE_INLINE V Greater(V x, V most) { return NanOr(x, AtLeast(most, x)); }

void Range(const float* x, Size count, float* low, float* high) {
  V least = Broadcast(*low), most = Broadcast(*high);
  Size i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    const V v = Load(x + i);
    least = Lesser(v, least);
    most = Greater(v, most);
  }
  for (; i < count; ++i) {
    const V v = Broadcast(x[i]);
    least = Lesser(v, least);
    most = Greater(v, most);
  }
  *low = -Largest(-least);
  *high = Largest(most);
}

void Quantize(const float* x, Size count, float scale, std::uint8_t zero, std::uint8_t* y) {
  const Quantizer quantize(scale, &zero, false);
  Size i = 0;
  for (; i + kWidth <= count; i += kWidth) StoreBytes(y + i, quantize(Load(x + i)), kWidth);
  const int rest = static_cast<int>(count - i);
  if (rest > 0) StoreBytes(y + i, quantize(LoadFirst(x + i, rest)), rest);
}

}  // namespace

extern const DynamicQuantizeTable kDynamicQuantizers = {Range, Quantize};

}  // namespace headrace::cpu::HEADRACE_ISA
