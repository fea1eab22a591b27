#include "kernels/convolutions/depthwise_last.h"

#include <algorithm>

#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Multiplications that are worth a part of their own.
constexpr Size kPartWork = Size{1} << 17;

// Lines that a thread takes at a time read most of the image twice if they are single ones.
constexpr Size kPartsPerThread = 3;

}  // namespace

void Convolve(const DepthwiseLast& conv) {
  const Size lines = conv.n * conv.out[0];
  const Size work = conv.out[1] * conv.channels * conv.kernel[0] * conv.kernel[1];
  const Size even = lines / (kPartsPerThread * Threads());
  const Size grain = std::max<Size>({1, even, kPartWork / std::max<Size>(1, work)});
  ParallelFor(lines, grain,
              [&](Size begin, Size end) { DepthwiseLines().lines(conv, begin, end); });
}

}  // namespace headrace::cpu
