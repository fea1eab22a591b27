#include "kernels/quantized/integer_conv.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace headrace::cpu {
namespace {

template <int kBytes>
HEADRACE_INLINE void Move(std::uint8_t* to, const std::uint8_t* from) {
  std::memcpy(to, from, kBytes);
}

// The call of a library takes longer than most of these copies.
HEADRACE_INLINE void Copy(std::uint8_t* to, const std::uint8_t* from, Size count) {
  if (count >= 16) {
    if (count > 512) {
      std::memcpy(to, from, static_cast<std::size_t>(count));
      return;
    }
    for (Size i = 0; i + 16 < count; i += 16) Move<16>(to + i, from + i);
    Move<16>(to + count - 16, from + count - 16);
  } else if (count >= 8) {
    Move<8>(to, from);
    Move<8>(to + count - 8, from + count - 8);
  } else if (count >= 4) {
    Move<4>(to, from);
    Move<4>(to + count - 4, from + count - 4);
  } else {
    for (Size i = 0; i < count; ++i) to[i] = from[i];
  }
}

// One row of taps: `group` bytes for each, at the positions of the image's row that begins at
// `row`, those `inside` of it.
HEADRACE_INLINE void GatherLine(const ByteWindows& windows, const std::uint8_t* row, Size first,
                                Range inside, std::uint8_t zero, std::uint8_t* to) {
  const Window& w = windows.window;
  const Size group = windows.group, step = w.dilation[2];
  const auto fill = [&](Size begin, Size end) {
    if (begin == end) return;
    std::memset(to + begin * group, zero, static_cast<std::size_t>((end - begin) * group));
  };
  fill(0, inside.begin);
  fill(inside.end, w.kernel[2]);
  if (step == 1 && group == windows.channels) {
    const std::uint8_t* from = row + (first + inside.begin) * group;
    return Copy(to + inside.begin * group, from, inside.Count() * group);
  }
  for (Size k = inside.begin; k < inside.end; ++k) {
    Copy(to + k * group, row + (first + k * step) * windows.channels, group);
  }
}

// `count` lines of one length, each `across` bytes further on.
HEADRACE_INLINE void CopyLines(std::uint8_t* to, Size stride, const std::uint8_t* from, Size across,
                               Size line, Size count) {
  const auto each = [&](auto copy) {
    for (Size i = 0; i < count; ++i, to += stride, from += across) copy();
  };
  if (line > 32 || line < 8) {
    each([&] { Copy(to, from, line); });
  } else if (line >= 16) {
    each([&] {
      Move<16>(to, from);
      Move<16>(to + line - 16, from + line - 16);
    });
  } else {
    each([&] {
      Move<8>(to, from);
      Move<8>(to + line - 8, from + line - 8);
    });
  }
}

// `count` windows from `first` on, of one line of the result.
void GatherSegment(const ByteWindows& windows, const Position& first, Size count, std::uint8_t* to,
                   Size stride) {
  const Window& w = windows.window;
  const std::uint8_t zero = windows.zero == nullptr ? 0 : *windows.zero;
  const Size channels = windows.channels, line = w.kernel[2] * windows.group;
  const Size end = first.x + count, reach = (w.kernel[2] - 1) * w.dilation[2];
  const Range whole = StepsWithin(-w.pad[2], w.stride[2], 0, w.in[2] - reach, w.out[2]);
  const bool is_line = w.dilation[2] == 1 && windows.group == channels;
  // Those in between read no column outside the image.
  const Size begin_whole = std::clamp(is_line ? whole.begin : end, first.x, end);
  const Size end_whole = std::clamp(is_line ? whole.end : end, begin_whole, end);
  for (Size kz = 0; kz < w.kernel[0]; ++kz) {
    const Size z = InputPosition(w, 0, first.z, kz);
    for (Size ky = 0; ky < w.kernel[1]; ++ky, to += line) {
      const Size y = InputPosition(w, 1, first.y, ky);
      if (z < 0 || z >= w.in[0] || y < 0 || y >= w.in[1]) {
        for (Size i = 0; i < count; ++i) {
          std::memset(to + i * stride, zero, static_cast<std::size_t>(line));
        }
        continue;
      }
      const std::uint8_t* row =
          windows.x + ((first.n * w.in[0] + z) * w.in[1] + y) * w.in[2] * channels;
      const auto by_taps = [&](Size begin, Size stop) {
        for (Size x = begin; x < stop; ++x) {
          GatherLine(windows, row, InputPosition(w, 2, x, 0), TapsInside(w, 2, x), zero,
                     to + (x - first.x) * stride);
        }
      };
      by_taps(first.x, begin_whole);
      CopyLines(to + (begin_whole - first.x) * stride, stride,
                row + InputPosition(w, 2, begin_whole, 0) * channels, w.stride[2] * channels, line,
                end_whole - begin_whole);
      by_taps(end_whole, end);
    }
  }
}

void GatherWindows(const void* source, Size first, Size count, std::uint8_t* to, Size stride) {
  // A copy, since what is written might be the window, for a compiler.
  const ByteWindows windows = *static_cast<const ByteWindows*>(source);
  const Window& w = windows.window;
  Position at = Position::At(w, first);
  while (count > 0) {
    const Size some = std::min(count, w.out[2] - at.x);
    GatherSegment(windows, at, some, to, stride);
    count -= some;
    to += some * stride;
    at.NextLine(w);
  }
}

// Whether the windows are the pixels, all channels of each.
bool IsDense(const ByteWindows& windows) {
  const Window& w = windows.window;
  return w.KernelCount() == 1 && windows.group == windows.channels && w.in == w.out &&
         w.stride == std::array<Size, 3>{1, 1, 1} && w.pad == std::array<Size, 3>{0, 0, 0};
}

}  // namespace

ByteRows MakeRows(const ByteWindows* source, Size images, Byte item) {
  const Window& w = source->window;
  const Size rows = images * w.OutCount();
  if (IsDense(*source)) return MakeRows(source->x, rows, source->channels, item);
  return {GatherWindows, source, nullptr, rows, w.KernelCount() * source->group, item};
}

ByteRows MakeRows(const std::uint8_t* dense, Size count, Size depth, Byte item) {
  return {nullptr, nullptr, dense, count, depth, item};
}

}  // namespace headrace::cpu
