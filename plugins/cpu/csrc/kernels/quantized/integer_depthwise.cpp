#include "kernels/quantized/integer_depthwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Multiplications that are worth a part of their own, and parts of each thread; see
// depthwise_last.cpp.
constexpr Size kPartWork = Size{1} << 19;
constexpr Size kPartsPerThread = 3;

std::uint32_t Bits(std::int32_t x) { return static_cast<std::uint32_t>(x); }

// Where the number of a channel stands among those of its block.
Size Place(Size channel) {
  const Size inside = channel % kByteBlock;
  return channel - inside + inside % 16 / 4 * 16 + inside / 16 * 4 + inside % 4;
}

PreparedDepthwise Prepare(const ByteDepthwise& conv) {
  const Size wide = ByteBlocks(conv.channels) * kByteBlock;
  std::int32_t* added = conv.prepared;
  std::int32_t* weight_zeros = added + wide;
  float* factors = reinterpret_cast<float*>(weight_zeros + wide);
  auto* zeros = reinterpret_cast<std::uint8_t*>(factors + wide);
  std::memset(conv.prepared, 0, static_cast<std::size_t>(PreparedCount(conv.channels)) * 4);
  const bool is_signed = conv.item == Byte::kInt8;
  const std::int32_t x_zero = ByteAt(conv.x_zero, is_signed);
  std::memset(zeros, x_zero, static_cast<std::size_t>(wide));
  const std::uint32_t moved = Bits(x_zero + (is_signed ? 128 : 0));
  const auto taps = static_cast<std::uint32_t>(conv.window.KernelCount());
  const ByteEpilogue& e = conv.epilogue;
  Requantized bytes = RequantizedBy(e, factors);
  const Size filled = conv.channels * PixelsOfBlock(conv.channels);
  for (Size i = 0; i < filled; ++i) {
    const Size c = i % conv.channels, to = Place(i);
    const std::int32_t zero = conv.weight_zeros == nullptr ? 0 : conv.weight_zeros[c];
    const std::uint32_t shift = e.shift == nullptr ? 0u : Bits(e.shift[c]);
    weight_zeros[to] = zero;
    added[to] = static_cast<std::int32_t>(shift - moved * (Bits(conv.sums[c]) - taps * Bits(zero)));
    factors[to] = e.scale == nullptr ? 0.0f : e.scale[c * e.scale_step];
    if (!std::isfinite(factors[to])) bytes.factors = nullptr;
  }
  return {conv, added, conv.weight_zeros == nullptr ? nullptr : weight_zeros, bytes, zeros};
}

}  // namespace

void Convolve(const ByteDepthwise& conv) {
  const PreparedDepthwise prepared = Prepare(conv);
  const Window& w = conv.window;
  const Size lines = conv.n * w.out[0] * w.out[1];
  const Size taps = Quads(w.KernelCount()) * kQuad;
  const Size work = std::max<Size>(1, w.out[2] * conv.channels * taps);
  const Size even = lines / (kPartsPerThread * Threads());
  const Size grain = std::max<Size>({1, even, kPartWork / work});
  ParallelFor(lines, grain, [&](Size begin, Size end) {
    const auto bytes = static_cast<std::size_t>(2 * taps) * sizeof(void*);
    auto* starts = static_cast<const std::uint8_t**>(ThreadScratch(bytes));
    ByteDepthwiseLines().lines(prepared, begin, end, starts);
  });
}

}  // namespace headrace::cpu
