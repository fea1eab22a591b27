#include "kernels/quantized/integer_add.h"

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Numbers that are worth a part of their own, in whole vectors.
constexpr Size kPart = 1 << 15;

}  // namespace

void Add(const ByteSum& sum, Size count) {
  ParallelFor(CeilDiv(count, kPart), 1, [&](Size begin, Size end) {
    ByteSums().some(sum, begin * kPart, end * kPart < count ? end * kPart : count);
  });
}

}  // namespace headrace::cpu
