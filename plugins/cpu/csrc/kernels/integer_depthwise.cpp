#include "integer_depthwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "thread_pool.h"

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

// Whether a factor and a clamp are all that follows the sums.
bool IsDirect(const ByteDepthwise& conv) {
  const ByteEpilogue& e = conv.epilogue;
  const Epilogue& floats = e.floats;
  if (e.y_scale == nullptr || *e.y_scale != 1.0f) return false;
  if (floats.bias != nullptr || floats.addend != nullptr) return false;
  if (floats.activation == Activation::kClamp) return floats.alpha <= floats.beta;
  return floats.activation == Activation::kNone;
}

std::int32_t ByteAt(const void* byte, bool is_signed) {
  if (byte == nullptr) return 0;
  return is_signed ? *static_cast<const std::int8_t*>(byte)
                   : *static_cast<const std::uint8_t*>(byte);
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
  std::memset(zeros, x_zero, static_cast<std::size_t>(conv.channels));
  const std::uint32_t moved = Bits(x_zero + (is_signed ? 128 : 0));
  const auto taps = static_cast<std::uint32_t>(conv.window.KernelCount());
  const ByteEpilogue& e = conv.epilogue;
  bool direct = IsDirect(conv);
  for (Size c = 0; c < conv.channels; ++c) {
    const Size to = Place(c);
    const std::int32_t zero = conv.weight_zeros == nullptr ? 0 : conv.weight_zeros[c];
    const std::uint32_t shift = e.shift == nullptr ? 0u : Bits(e.shift[c]);
    weight_zeros[to] = zero;
    added[to] = static_cast<std::int32_t>(shift - moved * (Bits(conv.sums[c]) - taps * Bits(zero)));
    if (direct) factors[to] = e.scale[c * e.scale_step];
    direct = direct && std::isfinite(factors[to]);
  }
  PreparedDepthwise made{
      conv, added, conv.weight_zeros == nullptr ? nullptr : weight_zeros, nullptr, zeros, 0, 0, 0};
  if (!direct) return made;
  const bool y_signed = e.made == Made::kInt8;
  made.factors = factors;
  made.y_zero = ByteAt(e.y_zero, y_signed);
  made.low = static_cast<float>((y_signed ? -128 : 0) - made.y_zero);
  made.high = static_cast<float>((y_signed ? 127 : 255) - made.y_zero);
  if (e.floats.activation == Activation::kClamp) {
    made.high = std::clamp(e.floats.beta, made.low, made.high);
    made.low = std::clamp(e.floats.alpha, made.low, made.high);
  }
  return made;
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
