// A few lines of a depthwise convolution at once, for kernels of a size and stride that are known
// here: each number of the image is loaded once, and takes part in all outputs of the strip that
// read it. For machines with registers enough to hold these.
#pragma once

#include <cmath>

#include "kernels/convolutions/depthwise_last.h"
#include "kernels/machine/simd.h"
#include "kernels/products/activation.h"

namespace headrace::cpu::HEADRACE_ISA {

// Lines of y, of one image.
struct Strip {
  Size n, first;
  int count;
};

// A strip has at most so many lines: with fewer, more of the image is loaded twice.
constexpr int kStripLines = 4;

// An activation that is more than a bound, of `width` channels from c on.
static __attribute__((noinline)) void Activate(const DepthwiseLast& d, const Strip& strip, Size c,
                                               int width) {
  const Size line = d.out[1] * d.channels;
  float* y = d.y + (strip.n * d.out[0] + strip.first) * line + c;
  WithActivation(d.epilogue, [&](auto activate) HEADRACE_INLINE_LAMBDA {
    for (float* end = y + strip.count * line; y < end; y += d.channels) {
      StoreSome(y, activate(LoadSome(y, width)), width);
    }
  });
}

// Adds what a column of the image gives to the outputs that read it: to the newest of them by tap s
// of its kernel, and by kStride more to each one before. `read` loads a line of the column.
template <int kKernel, int kStride, int kLines, int kAlive, class Read>
HEADRACE_INLINE void AddColumn(const V (&taps)[kKernel * kKernel], int s, Read read,
                               V (&sum)[kAlive][kLines]) {
#pragma GCC unroll 16
  for (int i = 0; i < (kLines - 1) * kStride + kKernel; ++i) {
    const V x = read(i);
#pragma GCC unroll 8
    for (int q = 0; q < kAlive; ++q) {
#pragma GCC unroll 4
      for (int r = 0; r < kLines; ++r) {
        const int ky = i - r * kStride, kx = q * kStride + s;
        if (ky < 0 || ky >= kKernel || kx >= kKernel) continue;
        sum[q][r] = MulAdd(taps[ky * kKernel + kx], x, sum[q][r]);
      }
    }
  }
}

// `width` channels from c on, for kernels of kKernel x kKernel, in steps of kStride. kInside: no
// line of what is read lies outside of the image; kWhole: there are as many channels as a vector
// has.
template <int kKernel, int kStride, int kLines, bool kInside, bool kWhole>
void SumStrip(const DepthwiseLast& d, const Strip& strip, Size c, int width) {
  // Outputs of a line that one column of the image takes part in, and lines that they read.
  constexpr int kAlive = (kKernel + kStride - 1) / kStride;
  constexpr int kRead = (kLines - 1) * kStride + kKernel;

  const Epilogue& e = d.epilogue;
  const Size channels = d.channels, row = d.in[1] * channels, line = d.out[1] * channels;
  const float* x = d.x + strip.n * d.in[0] * row + c;
  float* y = d.y + (strip.n * d.out[0] + strip.first) * line + c;
  // Of a line outside nothing is read, but at a place that there is: where there is no page, to
  // load nothing takes a hundred times as long.
  const float* lines[kRead];
  int widths[kRead];
  for (int i = 0; i < kRead; ++i) {
    const Size at = strip.first * kStride - d.pad[0] + i;
    const bool inside = at >= 0 && at < d.in[0];
    lines[i] = inside ? x + at * row : x;
    widths[i] = inside ? width : 0;
  }

  const auto load = [&](const float* p) { return kWhole ? Load(p) : LoadSome(p, width); };
  V taps[kKernel * kKernel];
#pragma GCC unroll 49
  for (int k = 0; k < kKernel * kKernel; ++k) taps[k] = load(d.taps + k * channels + c);
  const bool clamps = e.activation == Activation::kClamp;
  const V low = Broadcast(clamps ? e.alpha : -INFINITY);
  const V high = Broadcast(clamps ? e.beta : INFINITY);
  const V start = e.bias == nullptr ? Broadcast(0) : load(e.bias + c);
  const float* addend = e.addend == nullptr ? nullptr : e.addend + (y - d.y);
  V sum[kAlive][kLines] = {};
  // With every step the output at `at` begins, and the one that began kAlive - 1 steps ago is done.
  for (Size at = 0; at < d.out[1] + kAlive - 1; ++at) {
#pragma GCC unroll 4
    for (int r = 0; r < kLines; ++r) {
#pragma GCC unroll 8
      for (int q = kAlive - 1; q > 0; --q) sum[q][r] = sum[q - 1][r];
      sum[0][r] = start;
      if (addend == nullptr || at >= d.out[1]) continue;
      sum[0][r] = start + load(addend + r * line + at * channels);
    }
#pragma GCC unroll 2
    for (int s = 0; s < kStride; ++s) {
      const Size column = at * kStride + s - d.pad[1];
      if (column < 0 || column >= d.in[1]) continue;
      const auto read = [&](int i) HEADRACE_INLINE_LAMBDA {
        const float* from = lines[i] + column * channels;
        return kInside && kWhole ? Load(from) : LoadSome(from, widths[i]);
      };
      AddColumn<kKernel, kStride>(taps, s, read, sum);
    }
    if (at < kAlive - 1) continue;
#pragma GCC unroll 4
    for (int r = 0; r < kLines; ++r) {
      float* to = y + r * line + (at - (kAlive - 1)) * channels;
      const V v = AtMost(AtLeast(sum[kAlive - 1][r], low), high);
      if (kWhole) {
        Store(to, v);
      } else {
        StoreSome(to, v, width);
      }
    }
  }
  if (e.activation > Activation::kClamp) Activate(d, strip, c, width);
}

// All channels of a strip of kLines lines.
template <int kKernel, int kStride, int kLines>
void RunStrip(const DepthwiseLast& d, const Strip& strip) {
  const Size top = strip.first * kStride - d.pad[0];
  const Size bottom = top + (kLines - 1) * kStride + kKernel;
  const bool inside = top >= 0 && bottom <= d.in[0];
  for (Size c = 0; c < d.channels; c += kWidth) {
    const int width = VectorCount(d.channels - c);
    if (width < kWidth) {
      SumStrip<kKernel, kStride, kLines, false, false>(d, strip, c, width);
    } else if (inside) {
      SumStrip<kKernel, kStride, kLines, true, true>(d, strip, c, width);
    } else {
      SumStrip<kKernel, kStride, kLines, false, true>(d, strip, c, width);
    }
  }
}

template <int kKernel, int kStride, int kLines = kStripLines>
void RunStripOf(const DepthwiseLast& d, const Strip& strip) {
  if constexpr (kLines > 0) {
    if (strip.count == kLines) return RunStrip<kKernel, kStride, kLines>(d, strip);
    RunStripOf<kKernel, kStride, kLines - 1>(d, strip);
  }
}

// What runs strips of such a convolution; null where there is nothing that does.
using StripRunner = void (*)(const DepthwiseLast& d, const Strip& strip);
inline StripRunner StripRunnerOf(const DepthwiseLast& d) {
  if constexpr (kRegisters / kParts >= 32) {
    const Size kernel = d.kernel[0], stride = d.stride[0];
    if (d.kernel[1] != kernel || d.stride[1] != stride) return nullptr;
    if (d.dilation[0] != 1 || d.dilation[1] != 1 || d.epilogue.addend_last) return nullptr;
    if (kernel == 3 && stride == 1) return RunStripOf<3, 1>;
    if (kernel == 3 && stride == 2) return RunStripOf<3, 2>;
    if (kernel == 5 && stride == 1) return RunStripOf<5, 1>;
    if (kernel == 5 && stride == 2) return RunStripOf<5, 2>;
    if (kernel == 7 && stride == 1) return RunStripOf<7, 1>;
  }
  return nullptr;
}

}  // namespace headrace::cpu::HEADRACE_ISA
