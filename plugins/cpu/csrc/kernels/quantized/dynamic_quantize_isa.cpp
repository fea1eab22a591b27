#include "kernels/machine/quantize.h"
#include "kernels/quantized/dynamic_quantize.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

void Range(const float* x, Size count, float* low, float* high) {
  V least = Broadcast(*low), most = Broadcast(*high);
  Size i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    const V v = Load(x + i);
    least = MinOrNan(least, v);
    most = MaxOrNan(most, v);
  }
  for (; i < count; ++i) {
    const V v = Broadcast(x[i]);
    least = MinOrNan(least, v);
    most = MaxOrNan(most, v);
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
