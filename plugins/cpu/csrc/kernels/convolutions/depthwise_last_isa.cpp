#include "kernels/convolutions/depthwise_last.h"
#include "kernels/convolutions/depthwise_strip.h"
#include "kernels/machine/address.h"
#include "kernels/machine/simd.h"
#include "kernels/machine/sizes.h"
#include "kernels/products/activation.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// Outputs of a line that are summed up at once: each weight is loaded once for all of them.
constexpr int kColumns = kRegisters / kParts == 32 ? 10 : kRegisters / kParts == 8 ? 5 : 2;

// Blocks of channels that are summed up at once where outputs go one by one, at the edges.
constexpr int kBlocks = kParts == 4 ? 2 : 4;

struct Range {
  Size begin, end;
};

// Taps on an axis that read the image when the window stands at `start`.
Range TapsInside(Size start, Size kernel, Size dilation, Size in) {
  Size begin = 0, end = kernel;
  while (begin < end && start + begin * dilation < 0) ++begin;
  while (end > begin && start + (end - 1) * dilation >= in) --end;
  return {begin, end};
}

// Some neighbouring outputs of a line, which read the same taps.
struct Place {
  const float* x;  // what tap (0, 0) of the first one reads; may lie outside
  float* y;
  const float* addend;
  Range rows, columns;  // of the taps
};

// kOutputs outputs of kRuns blocks of channels from c on, of which the last has `count`.
template <int kOutputs, int kRuns, bool kWhole>
HEADRACE_INLINE void Sum(const DepthwiseLast& d, const Place& at, Size c, int count) {
  const Size channels = d.channels, across = d.stride[1] * channels;
  const auto load = [&](const float* p, int run) {
    return kWhole || run + 1 < kRuns ? Load(p) : LoadSome(p, count);
  };
  V sum[kOutputs][kRuns];
#pragma GCC unroll 4
  for (int r = 0; r < kRuns; ++r) {
    const float* bias = d.epilogue.bias;
    const V start = bias == nullptr ? Broadcast(0) : load(bias + c + r * kWidth, r);
#pragma GCC unroll 16
    for (int i = 0; i < kOutputs; ++i) sum[i][r] = start;
  }
  for (Size ky = at.rows.begin; ky < at.rows.end; ++ky) {
    const float* line = at.x + ky * d.dilation[0] * d.in[1] * channels + c;
    const float* taps = d.taps + ky * d.kernel[1] * channels + c;
    for (Size kx = at.columns.begin; kx < at.columns.end; ++kx) {
      const float* from = line + kx * d.dilation[1] * channels;
#pragma GCC unroll 4
      for (int r = 0; r < kRuns; ++r) {
        const V tap = load(taps + kx * channels + r * kWidth, r);
#pragma GCC unroll 16
        for (int i = 0; i < kOutputs; ++i) {
          sum[i][r] = MulAdd(tap, load(from + i * across + r * kWidth, r), sum[i][r]);
        }
      }
    }
  }
  const Epilogue& e = d.epilogue;
  const V alpha = Broadcast(e.alpha), beta = Broadcast(e.beta);
#pragma GCC unroll 16
  for (int i = 0; i < kOutputs; ++i) {
#pragma GCC unroll 4
    for (int r = 0; r < kRuns; ++r) {
      const Size place = i * channels + c + r * kWidth;
      V v = sum[i][r];
      if (at.addend != nullptr && !e.addend_last) v = v + load(at.addend + place, r);
      if (e.activation == Activation::kClamp) {
        v = AtMost(AtLeast(v, alpha), beta);
      } else if (e.activation != Activation::kNone) {
        WithActivation(e, [&](auto activate) HEADRACE_INLINE_LAMBDA { v = activate(v); });
      }
      if (at.addend != nullptr && e.addend_last) v = v + load(at.addend + place, r);
      if (kWhole || r + 1 < kRuns) {
        Store(at.y + place, v);
      } else {
        StoreSome(at.y + place, v, count);
      }
    }
  }
}

template <int kOutputs, int kRuns>
void AllChannels(const DepthwiseLast& d, const Place& at) {
  constexpr Size kStep = kRuns * kWidth;
  Size c = 0;
  for (; c + kStep <= d.channels; c += kStep) Sum<kOutputs, kRuns, true>(d, at, c, kWidth);
  if constexpr (kRuns > 1) {
    for (; c + kWidth <= d.channels; c += kWidth) Sum<kOutputs, 1, true>(d, at, c, kWidth);
  }
  if (c == d.channels) return;
  if (d.channels >= kWidth && at.addend == nullptr) {
    Sum<kOutputs, 1, true>(d, at, d.channels - kWidth, kWidth);  // some of them once more
  } else {
    Sum<kOutputs, 1, false>(d, at, c, static_cast<int>(d.channels - c));
  }
}

template <int kOutputs>
HEADRACE_INLINE void AllChannelsOf(int outputs, const DepthwiseLast& d, const Place& at) {
  if constexpr (kOutputs > 1) {
    if (outputs == kOutputs) return AllChannels<kOutputs, 1>(d, at);
    return AllChannelsOf<kOutputs - 1>(outputs, d, at);
  }
  AllChannels<1, kBlocks>(d, at);
}

// Fetches what the line below some outputs of a line will read and they do not: rows go by in
// pieces, which the processor does not foresee. What lies behind the last row is not there, which a
// fetch may ask for.
HEADRACE_INLINE void FetchBelow(const DepthwiseLast& d, const Place& at, Size outputs) {
  constexpr Size kStep = kCacheLineBytes / Size{sizeof(float)};
  const Size row = d.in[1] * d.channels, length = outputs * d.stride[1] * d.channels;
  const Size below = (d.kernel[0] - 1) * d.dilation[0] + 1;
  const std::uintptr_t first = Address(at.x);
  for (Size i = below; i < below + d.stride[0]; ++i) {
    for (Size from = i * row; from < i * row + length; from += kStep) Fetch(Moved(first, from));
  }
}

void Line(const DepthwiseLast& d, Size n, Size oy) {
  const Size channels = d.channels;
  const Size top = oy * d.stride[0] - d.pad[0];
  Place line;
  line.x = d.x + ((n * d.in[0] + top) * d.in[1] - d.pad[1]) * channels;
  const Size first = (n * d.out[0] + oy) * d.out[1] * channels;
  line.y = d.y + first;
  line.addend = d.epilogue.addend == nullptr ? nullptr : d.epilogue.addend + first;
  line.rows = TapsInside(top, d.kernel[0], d.dilation[0], d.in[0]);
  for (Size ox = 0; ox < d.out[1];) {
    const auto taps = [&](Size x) {
      return TapsInside(x * d.stride[1] - d.pad[1], d.kernel[1], d.dilation[1], d.in[1]);
    };
    Place at = line;
    at.columns = taps(ox);
    // How many that follow read the same taps; cut into equal pieces, not into large ones and one.
    const bool whole = at.columns.end - at.columns.begin == d.kernel[1];
    Size run = 1;
    if (whole) {
      const Size reach = (d.kernel[1] - 1) * d.dilation[1] - d.pad[1];
      Size last = (d.in[1] - 1 - reach) / d.stride[1];  // the last one that ends in the image
      if (last >= d.out[1]) last = d.out[1] - 1;
      run = last - ox + 1;
      const Size pieces = CeilDiv(run, kColumns);
      run = CeilDiv(run, pieces);
    }
    at.x += ox * d.stride[1] * channels;
    at.y += ox * channels;
    if (at.addend != nullptr) at.addend += ox * channels;
    FetchBelow(d, at, run);
    AllChannelsOf<kColumns>(static_cast<int>(run), d, at);
    ox += run;
  }
}

void Lines(const DepthwiseLast& conv, Size begin, Size end) {
  const StripRunner run = StripRunnerOf(conv);
  for (Size line = begin; line < end;) {
    const Size n = line / conv.out[0], oy = line % conv.out[0];
    if (run == nullptr) {
      Line(conv, n, oy);
      ++line;
      continue;
    }
    const Size left = end - line < conv.out[0] - oy ? end - line : conv.out[0] - oy;
    const Size count = CeilDiv(left, CeilDiv(left, kStripLines));
    run(conv, {n, oy, static_cast<int>(count)});
    line += count;
  }
}

}  // namespace

extern const DepthwiseLastTable kDepthwiseLines = {Lines};

}  // namespace headrace::cpu::HEADRACE_ISA
