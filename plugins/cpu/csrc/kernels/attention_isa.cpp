#include "attention.h"
#include "vmath.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// The row, scaled and masked, and its largest number, or NaN.
HEADRACE_INLINE float Score(float* row, Size length, float scale, const float* mask) {
  const V factor = Broadcast(scale);
  V most = Broadcast(-__builtin_inff());
  for (Size i = 0; i < length; i += kWidth) {
    const int count = length - i < kWidth ? static_cast<int>(length - i) : kWidth;
    V v = Load(row + i) * factor;
    if (mask != nullptr) v = v + (count == kWidth ? Load(mask + i) : LoadFirst(mask + i, count));
    if (count < kWidth) {  // what lies behind the row counts for nothing
      float lanes[kWidth];
      Store(lanes, v);
      for (int k = count; k < kWidth; ++k) lanes[k] = -__builtin_inff();
      v = Load(lanes);
    }
    Store(row + i, v);
    most = NanOr(v, AtLeast(most, v));
  }
  return Largest(most);
}

void Softmax(float* rows, Size count, Size length, Size stride, float scale, const float* mask,
             Size mask_step, bool nan_is_zero) {
  for (Size r = 0; r < count; ++r, rows += stride) {
    const V most = Broadcast(Score(rows, length, scale, mask));
    V sum = Broadcast(0.0f);
    for (Size i = 0; i < length; i += kWidth) {
      const V grown = FullExp(Load(rows + i) - most);
      sum = sum + grown;
      Store(rows + i, grown);
    }
    const float all = Sum(sum);
    const V share = Broadcast(1.0f / all);
    if (all != all && nan_is_zero) {
      for (Size i = 0; i < length; i += kWidth) Store(rows + i, Broadcast(0.0f));
    } else {
      for (Size i = 0; i < length; i += kWidth) Store(rows + i, Load(rows + i) * share);
    }
    if (mask != nullptr) mask += mask_step;
  }
}

}  // namespace

extern const AttentionTable kAttentionRows = {Softmax};

}  // namespace headrace::cpu::HEADRACE_ISA
