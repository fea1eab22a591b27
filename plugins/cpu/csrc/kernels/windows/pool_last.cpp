#include "kernels/windows/pool_last.h"

#include <algorithm>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"
#include "kernels/windows/pool_last_table.h"

namespace headrace::cpu {
namespace {

// Numbers to read that are worth a part of their own.
constexpr Size kPartFloats = 1 << 15;

// Bytes that are.
constexpr Size kPartBytes = 1 << 18;

// Channels of a part where there are few outputs and many channels.
constexpr Size kPartChannels = 256;

// Rows that are summed up in one go: few enough that rounding stays small.
constexpr Size kRowsAtOnce = 512;

Size PadCount(const PoolLast& pool, int axis, Size output) {
  const Window& w = pool.window;
  const Size start = output * w.stride[axis] - w.pad[axis];
  return StepsWithin(start, w.dilation[axis], -w.pad[axis], w.in[axis] + pool.pad_end[axis],
                     w.kernel[axis])
      .Count();
}

// Pointers to what the window reads of channel 0, to `taps`; how many.
template <class T>
Size FindTaps(const Window& w, Size channels, const T* image, const Position& at, const T** taps) {
  const Range depth = TapsInside(w, 0, at.z), height = TapsInside(w, 1, at.y);
  const Range width = TapsInside(w, 2, at.x);
  Size count = 0;
  for (Size i = depth.begin; i < depth.end; ++i) {
    const Size z = InputPosition(w, 0, at.z, i);
    for (Size j = height.begin; j < height.end; ++j) {
      const Size y = z * w.in[1] + InputPosition(w, 1, at.y, j);
      for (Size k = width.begin; k < width.end; ++k) {
        taps[count++] = image + (y * w.in[2] + InputPosition(w, 2, at.x, k)) * channels;
      }
    }
  }
  return count;
}

void FoldPart(const PoolLast& pool, Size output, Size c, Size channels, const float** taps) {
  const Window& w = pool.window;
  const Position at = Position::At(w, output);
  const float* image = pool.x + at.n * w.InCount() * pool.channels + c;
  float* y = pool.y + output * pool.channels + c;
  const Size count = FindTaps(w, pool.channels, image, at, taps);
  if (pool.kind == PoolKind::kLargest) return Pools().largest(taps, count, y, channels);
  Size divisor = count;
  if (pool.count_pad) {
    divisor = PadCount(pool, 0, at.z) * PadCount(pool, 1, at.y) * PadCount(pool, 2, at.x);
  }
  Pools().mean(taps, count, static_cast<float>(std::max<Size>(divisor, 1)), y, channels);
}

}  // namespace

void Fold(const PoolLast& pool) {
  const Size outputs = pool.n * pool.window.OutCount(), taps = pool.window.KernelCount();
  const bool few = outputs < 64;
  const Size width = few ? std::min(kPartChannels, pool.channels) : pool.channels;
  if (width == 0) return;
  const Size pieces = CeilDiv(pool.channels, width);
  const Size grain = GrainOf(kPartFloats, taps * width);
  ParallelFor(outputs * pieces, grain, [&](Size begin, Size end) {
    const auto bytes = static_cast<std::size_t>(taps) * sizeof(const float*);
    auto** reads = static_cast<const float**>(ThreadScratch(bytes));
    for (Size part = begin; part < end; ++part) {
      const Size c = part % pieces * width;
      FoldPart(pool, part / pieces, c, std::min(width, pool.channels - c), reads);
    }
  });
}

void Fold(const BytePool& pool) {
  const Window& w = pool.window;
  const Size outputs = pool.n * w.OutCount(), taps = w.KernelCount();
  const Size grain = GrainOf(kPartBytes, taps * pool.channels);
  ParallelFor(outputs, grain, [&](Size begin, Size end) {
    const auto bytes = static_cast<std::size_t>(taps) * sizeof(const std::uint8_t*);
    auto** reads = static_cast<const std::uint8_t**>(ThreadScratch(bytes));
    for (Size output = begin; output < end; ++output) {
      const Position at = Position::At(w, output);
      const std::uint8_t* image = pool.x + at.n * w.InCount() * pool.channels;
      const Size count = FindTaps(w, pool.channels, image, at, reads);
      Pools().largest_bytes(reads, count, pool.y + output * pool.channels, pool.channels,
                            pool.is_signed);
    }
  });
}

void FoldRows(RowsKind kind, const float* x, float* y, Size outer, Size rows, Size columns) {
  if (columns == 0) return;
  const Size width = std::min(kPartChannels, columns), pieces = CeilDiv(columns, width);
  const Size cuts = kind == RowsKind::kLargest ? 1 : CeilDiv(rows, kRowsAtOnce);
  const float divisor = kind == RowsKind::kMean ? static_cast<float>(rows) : 1.0f;
  const auto fold = [&](const float* from, Size count, float by, float* to, Size some) {
    if (kind == RowsKind::kLargest) return Pools().largest_row(from, columns, count, to, some);
    Pools().row_mean(from, columns, count, by, to, some);
  };
  if (cuts <= 1) {
    const Size grain = GrainOf(kPartFloats, rows * width);
    ParallelFor(outer * pieces, grain, [&](Size begin, Size end) {
      for (Size part = begin; part < end; ++part) {
        const Size o = part / pieces, c = part % pieces * width;
        fold(x + o * rows * columns + c, rows, divisor, y + o * columns + c,
             std::min(width, columns - c));
      }
    });
    return;
  }
  // Parts of the rows first, then the sums of these.
  const auto count = static_cast<std::size_t>(outer * cuts * columns);
  auto* sums = static_cast<float*>(ThreadScratch(count * sizeof(float)));
  ParallelFor(outer * cuts, 1, [&](Size begin, Size end) {
    for (Size part = begin; part < end; ++part) {
      const Size first = part % cuts * kRowsAtOnce, o = part / cuts;
      fold(x + (o * rows + first) * columns, std::min(kRowsAtOnce, rows - first), 1.0f,
           sums + part * columns, columns);
    }
  });
  for (Size o = 0; o < outer; ++o) {
    fold(sums + o * cuts * columns, cuts, divisor, y + o * columns, columns);
  }
}

}  // namespace headrace::cpu
