// Pools over images whose channels are last, and sums down the rows of a matrix; float32, or
// bytes where that is said.
#pragma once

#include <array>

#include "kernels/machine/isa.h"
#include "kernels/windows/window.h"

namespace headrace::cpu {

enum class PoolKind { kLargest, kMean };

// x [n, *in, channels], y [n, *out, channels]. The mean is over the taps that lie in the image, and
// over those in the padding if `count_pad`, up to `pad_end` beyond the image.
struct PoolLast {
  PoolKind kind;
  Size n, channels;
  Window window;
  bool count_pad;
  std::array<Size, 3> pad_end;
  const float* x;
  float* y;
};

// With all threads.
void Fold(const PoolLast& pool);

// The largest bytes of windows that are as those above; none in the padding is one.
struct BytePool {
  Size n, channels;
  Window window;
  bool is_signed;
  const std::uint8_t* x;
  std::uint8_t* y;
};

// With all threads.
void Fold(const BytePool& pool);

// What the rows of a matrix become: their sum, mean or largest number in each column.
enum class RowsKind { kSum, kMean, kLargest };

// y[o, c] of x[o, rows, columns], with all threads. Sums are cut the same way on every machine.
void FoldRows(RowsKind kind, const float* x, float* y, Size outer, Size rows, Size columns);

}  // namespace headrace::cpu
