#include "integer_conv.h"

#include <algorithm>
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

void GatherWindows(const void* source, Size first, Size count, std::uint8_t* to, Size stride) {
  // A copy, since what is written might be the window, for a compiler.
  const ByteWindows windows = *static_cast<const ByteWindows*>(source);
  const Window& w = windows.window;
  const std::uint8_t zero = windows.zero == nullptr ? 0 : *windows.zero;
  const Size line = w.kernel[2] * windows.group, reach = (w.kernel[2] - 1) * w.dilation[2];
  Size rest = first;
  Size ox = rest % w.out[2];
  rest /= w.out[2];
  Size oy = rest % w.out[1];
  rest /= w.out[1];
  Size oz = rest % w.out[0], n = rest / w.out[0];
  for (Size i = 0; i < count; ++i, to += stride) {
    const Size left = InputPosition(w, 2, ox, 0);
    const Range inside =
        left >= 0 && left + reach < w.in[2] ? Range{0, w.kernel[2]} : TapsInside(w, 2, ox);
    std::uint8_t* at = to;
    for (Size kz = 0; kz < w.kernel[0]; ++kz) {
      const Size z = InputPosition(w, 0, oz, kz);
      for (Size ky = 0; ky < w.kernel[1]; ++ky, at += line) {
        const Size y = InputPosition(w, 1, oy, ky);
        if (z < 0 || z >= w.in[0] || y < 0 || y >= w.in[1]) {
          std::memset(at, zero, static_cast<std::size_t>(line));
          continue;
        }
        const Size row = ((n * w.in[0] + z) * w.in[1] + y) * w.in[2] * windows.channels;
        GatherLine(windows, windows.x + row, left, inside, zero, at);
      }
    }
    if (++ox < w.out[2]) continue;
    ox = 0;
    if (++oy < w.out[1]) continue;
    oy = 0;
    if (++oz < w.out[0]) continue;
    oz = 0;
    ++n;
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
