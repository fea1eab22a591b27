// Depthwise convolutions of bytes over images whose channels are last, summed in int32 exactly.
//
// Weights lie in blocks of 64 channels, four taps together: int8 [channels / 64][taps / 4][256],
// filled up with zeros; fewer channels that divide 64 are there again and again, so that a block is
// several pixels of them. In the 256, quads of channel 16 * l + 4 * k + i stand at 16 * k + 4 * l +
// i: where registers of 16, 32 or 64 bytes put them that interleave four taps within each 16 bytes.
#pragma once

#include "kernels/machine/sizes.h"
#include "kernels/quantized/integer.h"
#include "kernels/windows/window.h"

namespace headrace::cpu {

constexpr Size kByteBlock = 64;  // channels

HEADRACE_INLINE constexpr Size ByteBlocks(Size channels) { return CeilDiv(channels, kByteBlock); }

// Pixels that are one block.
HEADRACE_INLINE constexpr Size PixelsOfBlock(Size channels) {
  return channels < kByteBlock && kByteBlock % channels == 0 ? kByteBlock / channels : 1;
}

// x [n, *in, channels], y [n, *out, channels]. What lies outside the image reads as `x_zero`.
struct ByteDepthwise {
  Size n, channels;
  Window window;
  const std::uint8_t* x;
  Byte item;
  const std::int8_t* panels;
  const std::int32_t* sums;          // of the taps of each channel as they are packed
  const std::int32_t* weight_zeros;  // [channels], as they are packed, or none
  const void* x_zero;                // one byte as x has it, or none
  void* y;
  ByteEpilogue epilogue;   // the addend has the shape of y
  std::int32_t* prepared;  // PreparedCount(channels) numbers
};

// What a launch makes for whole blocks, in the order of the weights: what zero points add, those
// of the weights, factors to the quantized result; and a block of zeros.
constexpr Size PreparedCount(Size channels) { return 4 * ByteBlocks(channels) * kByteBlock; }

// With all threads.
void Convolve(const ByteDepthwise& conv);

// What lines are computed with, out of `prepared`.
struct PreparedDepthwise {
  const ByteDepthwise& conv;
  const std::int32_t* added;
  const std::int32_t* weight_zeros;  // or none
  Requantized bytes;                 // its factors are in the order of the weights
  const std::uint8_t* zeros;         // as many as whole blocks have bytes
};

struct ByteDepthwiseTable {
  // Lines [begin, end) of the n * out[0] * out[1] ones of y. `starts` has room for two numbers of
  // the taps, rounded up to whole quads.
  void (*lines)(const PreparedDepthwise& prepared, Size begin, Size end,
                const std::uint8_t** starts);
};
HEADRACE_DOT_TABLE(ByteDepthwiseTable, ByteDepthwiseLines)

}  // namespace headrace::cpu
