// Convolutions of bytes over images whose channels are last, as products; see integer.h.
#pragma once

#include "kernels/quantized/integer.h"
#include "kernels/windows/window.h"

namespace headrace::cpu {

// Rows of a product that are the windows of an image [n, *in, channels]: the taps outermost, then
// the channels of a group. What lies outside the image reads as `zero`, or 0.
struct ByteWindows {
  const std::uint8_t* x;  // the first channel of the group
  Window window;
  Size channels;  // of the image, all groups
  Size group;     // of which a row has so many
  const std::uint8_t* zero;
};
ByteRows MakeRows(const ByteWindows* source, Size images, Byte item);

// Rows one after another in memory.
ByteRows MakeRows(const std::uint8_t* dense, Size count, Size depth, Byte item);

}  // namespace headrace::cpu
