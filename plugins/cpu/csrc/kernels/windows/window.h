// The arithmetic of a sliding window, once for every kernel that slides one.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/machine/isa.h"
#include "kernels/machine/sizes.h"

namespace headrace::cpu {

// Always three spatial axes, outermost first; an axis that the caller does not have is all ones
// (and pad 0). Tap k of output position o reads input position o * stride + k * dilation - pad.
struct Window {
  std::array<Size, 3> in{1, 1, 1};
  std::array<Size, 3> out{1, 1, 1};
  std::array<Size, 3> kernel{1, 1, 1};
  std::array<Size, 3> stride{1, 1, 1};
  std::array<Size, 3> dilation{1, 1, 1};
  std::array<Size, 3> pad{0, 0, 0};

  Size InCount() const { return in[0] * in[1] * in[2]; }
  Size OutCount() const { return out[0] * out[1] * out[2]; }
  Size KernelCount() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// Where a window stands: a position of the output, counted row by row, image by image.
struct Position {
  Size n, z, y, x;

  static HEADRACE_INLINE Position At(const Window& w, Size index) {
    const Size x = index % w.out[2], rest = index / w.out[2];
    return {rest / w.out[1] / w.out[0], rest / w.out[1] % w.out[0], rest % w.out[1], x};
  }

  HEADRACE_INLINE void Next(const Window& w) {
    if (++x == w.out[2]) NextLine(w);
  }

  // To the first position of the next line.
  HEADRACE_INLINE void NextLine(const Window& w) {
    x = 0;
    if (++y < w.out[1]) return;
    y = 0;
    if (++z < w.out[0]) return;
    z = 0;
    ++n;
  }
};

// Half-open, and never with end < begin.
struct Range {
  Size begin;
  Size end;

  Size Count() const { return end - begin; }
  bool operator==(const Range& other) const { return begin == other.begin && end == other.end; }
  bool Contains(Size value) const { return begin <= value && value < end; }
};

// The i in [0, limit) for which low <= start + i * step < high; step is positive.
HEADRACE_INLINE Range StepsWithin(Size start, Size step, Size low, Size high, Size limit) {
  const Size first = start >= low ? 0 : CeilDiv(low - start, step);
  const Size last = start >= high ? 0 : CeilDiv(high - start, step);
  const Size begin = std::min(first, limit);
  return {begin, std::clamp(last, begin, limit)};
}

// Output positions on an axis whose given tap reads a real element.
HEADRACE_INLINE Range OutputsInside(const Window& w, int axis, Size tap) {
  return StepsWithin(tap * w.dilation[axis] - w.pad[axis], w.stride[axis], 0, w.in[axis],
                     w.out[axis]);
}

// Taps on an axis that read a real element when the window stands at the given output.
HEADRACE_INLINE Range TapsInside(const Window& w, int axis, Size output) {
  return StepsWithin(output * w.stride[axis] - w.pad[axis], w.dilation[axis], 0, w.in[axis],
                     w.kernel[axis]);
}

HEADRACE_INLINE Size InputPosition(const Window& w, int axis, Size output, Size tap) {
  return output * w.stride[axis] + tap * w.dilation[axis] - w.pad[axis];
}

}  // namespace headrace::cpu
