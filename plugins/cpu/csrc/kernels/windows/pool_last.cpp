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

// What the window reads at one output after another: pointers to the first channel of each tap that
// is inside. What all outputs of a line share is found once for it.
template <class T>
class Taps {
 public:
  // Room for the pointers.
  static std::size_t Bytes(const Window& w) {
    return static_cast<std::size_t>(w.kernel[0] * w.kernel[1] + w.KernelCount()) * sizeof(T*);
  }

  Taps(const Window& w, Size channels, const T* x, Size output, void* room)
      : w_(w), channels_(channels), x_(x), at_(Position::At(w, output)) {
    rows_ = static_cast<const T**>(room);
    taps_ = rows_ + w.kernel[0] * w.kernel[1];
    FindRows();
    FindTaps();
  }

  void Next() {
    at_.Next(w_);
    if (at_.x == 0) FindRows();
    FindTaps();
  }

  const Position& At() const { return at_; }
  const T* const* Pointers() const { return taps_; }
  Size Count() const { return count_; }

 private:
  void FindRows() {
    const T* image = x_ + at_.n * w_.InCount() * channels_;
    const Range depth = TapsInside(w_, 0, at_.z), height = TapsInside(w_, 1, at_.y);
    row_count_ = 0;
    for (Size i = depth.begin; i < depth.end; ++i) {
      const Size z = InputPosition(w_, 0, at_.z, i);
      for (Size j = height.begin; j < height.end; ++j) {
        const Size y = z * w_.in[1] + InputPosition(w_, 1, at_.y, j);
        rows_[row_count_++] = image + y * w_.in[2] * channels_;
      }
    }
  }

  void FindTaps() {
    const Range width = TapsInside(w_, 2, at_.x);
    const Size first = InputPosition(w_, 2, at_.x, width.begin) * channels_;
    const Size step = w_.dilation[2] * channels_;
    count_ = 0;
    for (Size row = 0; row < row_count_; ++row) {
      const T* tap = rows_[row] + first;
      for (Size k = width.begin; k < width.end; ++k, tap += step) taps_[count_++] = tap;
    }
  }

  const Window& w_;
  Size channels_;
  const T* x_;
  Position at_;
  const T** rows_;  // of the taps that are inside
  Size row_count_;
  const T** taps_;
  Size count_;
};

void FoldChannels(const PoolLast& pool, const Taps<float>& taps, Size output, Size begin,
                  Size end) {
  float* y = pool.y + output * pool.channels;
  const Size count = taps.Count();
  if (pool.kind == PoolKind::kLargest)
    return Pools().largest(taps.Pointers(), count, y, begin, end);
  Size divisor = count;
  if (pool.count_pad) {
    const Position& at = taps.At();
    divisor = PadCount(pool, 0, at.z) * PadCount(pool, 1, at.y) * PadCount(pool, 2, at.x);
  }
  const auto by = static_cast<float>(std::max<Size>(divisor, 1));
  Pools().mean(taps.Pointers(), count, by, y, begin, end);
}

}  // namespace

void Fold(const PoolLast& pool) {
  const Window& w = pool.window;
  const Size outputs = pool.n * w.OutCount(), channels = pool.channels;
  const Size width = outputs < 64 ? std::min(kPartChannels, channels) : channels;
  if (width == 0) return;
  const Size pieces = CeilDiv(channels, width);
  const Size grain = GrainOf(kPartFloats, w.KernelCount() * width);
  ParallelFor(outputs * pieces, grain, [&](Size begin, Size end) {
    Taps taps(w, channels, pool.x, begin / pieces, ThreadScratch(Taps<float>::Bytes(w)));
    for (Size part = begin; part < end; ++part) {
      const Size piece = part % pieces, first = piece * width;
      if (piece == 0 && part > begin) taps.Next();
      FoldChannels(pool, taps, part / pieces, first, std::min(first + width, channels));
    }
  });
}

void Fold(const BytePool& pool) {
  const Window& w = pool.window;
  const Size outputs = pool.n * w.OutCount(), channels = pool.channels;
  const Size grain = GrainOf(kPartBytes, w.KernelCount() * channels);
  ParallelFor(outputs, grain, [&](Size begin, Size end) {
    Taps taps(w, channels, pool.x, begin, ThreadScratch(Taps<std::uint8_t>::Bytes(w)));
    for (Size output = begin; output < end; ++output) {
      if (output > begin) taps.Next();
      Pools().largest_bytes(taps.Pointers(), taps.Count(), pool.y + output * channels, channels,
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
