#include "kernels/images/non_max_suppression.h"
#include "kernels/machine/simd.h"

// Compiled without contraction: which boxes are chosen must not depend on how a product is rounded
// on one machine.
namespace headrace::cpu::HEADRACE_ISA {
namespace {

Size Above(const float* scores, Size count, float least, std::uint32_t* at) {
  const V bound = Broadcast(least);
  Size found = 0;
  for (Size begin = 0; begin < count; begin += kWidth) {
    const int width = VectorCount(count - begin);
    unsigned bits = Bits(bound < LoadSome(scores + begin, width)) & ((1u << width) - 1u);
    for (; bits != 0; bits &= bits - 1) {
      at[found++] = static_cast<std::uint32_t>(begin + __builtin_ctz(bits));
    }
  }
  return found;
}

bool Overlaps(const BoxColumns& boxes, Size count, const float* box, float overlap) {
  const V top = Broadcast(box[0]), left = Broadcast(box[1]);
  const V bottom = Broadcast(box[2]), right = Broadcast(box[3]);
  const V area = Broadcast(box[4]), limit = Broadcast(overlap), zero = Broadcast(0);
  for (Size begin = 0; begin < count; begin += kWidth) {
    const int width = VectorCount(count - begin);
    const auto column = [&](int index) { return LoadSome(boxes[index] + begin, width); };
    const V height = AtMost(column(2), bottom) - AtLeast(column(0), top);
    const V breadth = AtMost(column(3), right) - AtLeast(column(1), left);
    const V shared = AtLeast(height, zero) * AtLeast(breadth, zero);
    const V both = column(4) + area - shared;
    if (Bits((zero < shared) & (limit * both < shared)) != 0) return true;
  }
  return false;
}

}  // namespace

extern const NonMaxSuppressionTable kNonMaxSuppressions = {Above, Overlaps};

}  // namespace headrace::cpu::HEADRACE_ISA
