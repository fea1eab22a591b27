// One tile of a product: sums of some rows and panels, in registers from the first of the depth to
// the last. See gemm.h for what is multiplied.
#pragma once

#include "kernels/machine/half.h"
#include "kernels/machine/simd.h"
#include "kernels/products/activation.h"
#include "kernels/products/gemm.h"

namespace headrace::cpu::HEADRACE_ISA {

// How many rows a tile of so many panels has: its sums, a row of the panels and one number of the
// left matrix stay in registers, and so do most of the pointers to its rows; and there are enough
// sums to hide the latency of an addition. More rows were measured: compilers spill, and it is
// slower.
constexpr int MostRows(int panels) {
  if (kRegisters / kParts == 32) return panels == 4 ? 6 : 9;
  if (kRegisters / kParts == 8) return panels == 1 ? 6 : panels == 2 ? 2 : 1;
  return panels == 1 ? 2 : 1;
}

// Registers of a panel of which the columns fill no more than one half: the other half is left out,
// and there is room for the sums of more rows.
constexpr int kHalfParts = kParts / 2;

constexpr bool FillHalf(Size columns) { return kHalfParts > 0 && columns <= kPanel / 2; }

// The rows of a tile of such a panel; as above.
constexpr int kHalfPanelRows = kHalfParts > 0 && kRegisters / kHalfParts >= 16 ? 8 : 4;

// Cache lines of panels that are fetched ahead with every four of the depth: many where a few tiles
// share what has to be fetched, which they would otherwise wait for. A single tile goes at the
// speed of the memory, and to fetch more is in its way.
constexpr int kFewAhead = 2, kManyAhead = 6;

// Panels of floats, as `half.h` has the others.
struct Float32 {
  using Item = float;
  static HEADRACE_INLINE V Load(const float* p) { return HEADRACE_ISA::Load(p); }
};

struct Tile {
  const float* const* starts;
  Size segments;
  Size length;
  Size offset;         // in each segment, of what is read
  const float* zeros;  // see Rows
  const void* panel;   // the first
  Size panel_stride;
  float* y;
  Size y_stride;
  const float* bias;
  const float* addend;
  int columns;
  const void* ahead;  // what the next tiles will read and is far away yet
  Size ahead_step;    // how much of it, in numbers, to fetch with every four of the depth
};

// c + a * b in the first registers of each; the others are left alone.
template <int kUsed>
HEADRACE_INLINE void AddProduct(V a, V b, V& c) {
  if constexpr (kUsed == kParts) {
    c = MulAdd(a, b, c);
  } else {
#pragma GCC unroll 4
    for (int i = 0; i < kUsed; ++i) c.part[i] = a.part[i] * b.part[i] + c.part[i];
  }
}

template <class P, int kRows, int kPanels, int kUsed>
HEADRACE_INLINE void Step(const float* const (&row)[kRows], Size k, const typename P::Item* panel,
                          Size panel_stride, V (&sum)[kRows][kPanels]) {
  V b[kPanels];
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) b[p] = P::Load(panel + p * panel_stride);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    const V a = Broadcast(row[i][k]);
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) AddProduct<kUsed>(a, b[p], sum[i][p]);
  }
}

// An epilogue of more than the sums in registers can take: over sums that were put down, so that
// tiles stay small.
template <class F>
static void FinishWith(const Tile& tile, const float* sums, int rows, int width,
                       const Epilogue& epilogue, F activate) {
  const bool adds_first = tile.addend != nullptr && !epilogue.addend_last;
  const bool adds_last = tile.addend != nullptr && epilogue.addend_last;
  for (int i = 0; i < rows; ++i) {
    float* y = tile.y + i * tile.y_stride;
    const float* addend =
        tile.addend == nullptr ? nullptr : tile.addend + i * epilogue.addend_stride;
    for (int c = 0; c < tile.columns; c += kPanel) {
      const int columns = tile.columns - c;
      V v = Load(sums + i * width + c);
      if (adds_first) v = v + LoadSome(addend + c, columns);
      v = activate(v);
      if (adds_last) v = v + LoadSome(addend + c, columns);
      StoreSome(y + c, v, columns);
    }
  }
}

static __attribute__((noinline)) void Finish(const Tile& tile, const float* sums, int rows,
                                             int width, const Epilogue& epilogue) {
  WithActivation(epilogue,
                 [&](auto activate) { FinishWith(tile, sums, rows, width, epilogue, activate); });
}

// Calls `f` for each sum of a tile, unrolled: they stay in registers.
template <int kRows, int kPanels, class F>
HEADRACE_INLINE void EachSum(F f) {
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) f(i, p);
  }
}

template <int kRows>
HEADRACE_INLINE bool AllAre(const float* zeros, const float* const (&row)[kRows]) {
  if (zeros == nullptr) return false;
  bool all = true;
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) all = all && row[i] == zeros;
  return all;
}

// kUsed: registers of a panel that have columns. kAhead: lines of panels that are fetched with
// every four of the depth.
template <class P, int kRows, int kPanels, int kUsed, int kAhead>
static void RunTile(const Tile& tile, const Epilogue& epilogue) {
  V sum[kRows][kPanels];
  const bool full = tile.columns == kPanels * kPanel;
  const auto load = [&](const float* row, int p) {
    return full ? Load(row + p * kPanel) : LoadSome(row + p * kPanel, tile.columns - p * kPanel);
  };
  if (tile.bias != nullptr) {
    V bias[kPanels];
    EachSum<1, kPanels>([&](int, int p) { bias[p] = load(tile.bias, p); });
    EachSum<kRows, kPanels>([&](int i, int p) { sum[i][p] = bias[p]; });
  } else {
    EachSum<kRows, kPanels>([&](int i, int p) { sum[i][p] = Broadcast(0); });
  }
  const auto* panel = static_cast<const typename P::Item*>(tile.panel);
  const auto* ahead = static_cast<const typename P::Item*>(tile.ahead);
  const float* const* starts = tile.starts;
  for (Size s = 0; s < tile.segments; ++s, starts += kMostRows) {
    const float* row[kRows];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) row[i] = starts[i];
    if (AllAre(tile.zeros, row)) {
      panel += tile.length * kPanel;
      continue;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) row[i] += tile.offset;
    Size k = 0;
    for (; k + 4 <= tile.length; k += 4, panel += 4 * kPanel, ahead += tile.ahead_step) {
#pragma GCC unroll 6
      for (int line = 0; line < kAhead; ++line) __builtin_prefetch(ahead + line * kPanel, 0, 2);
      Step<P, kRows, kPanels, kUsed>(row, k, panel, tile.panel_stride, sum);
      Step<P, kRows, kPanels, kUsed>(row, k + 1, panel + kPanel, tile.panel_stride, sum);
      Step<P, kRows, kPanels, kUsed>(row, k + 2, panel + 2 * kPanel, tile.panel_stride, sum);
      Step<P, kRows, kPanels, kUsed>(row, k + 3, panel + 3 * kPanel, tile.panel_stride, sum);
    }
    for (; k < tile.length; ++k, panel += kPanel) {
      Step<P, kRows, kPanels, kUsed>(row, k, panel, tile.panel_stride, sum);
    }
  }
  if (kUsed < kParts || epilogue.activation > Activation::kClamp || epilogue.addend_last) {
    alignas(64) float sums[kRows][kPanels * kPanel];
    EachSum<kRows, kPanels>([&](int i, int p) { Store(&sums[i][p * kPanel], sum[i][p]); });
    Finish(tile, &sums[0][0], kRows, kPanels * kPanel, epilogue);
    return;
  }
  if (tile.addend != nullptr) {
    EachSum<kRows, kPanels>([&](int i, int p) {
      sum[i][p] = sum[i][p] + load(tile.addend + i * epilogue.addend_stride, p);
    });
  }
  if (epilogue.activation == Activation::kClamp) {
    const V low = Broadcast(epilogue.alpha), high = Broadcast(epilogue.beta);
    EachSum<kRows, kPanels>(
        [&](int i, int p) { sum[i][p] = AtMost(AtLeast(sum[i][p], low), high); });
  }
  if (full) {
    EachSum<kRows, kPanels>(
        [&](int i, int p) { Store(tile.y + i * tile.y_stride + p * kPanel, sum[i][p]); });
  } else {
    EachSum<kRows, kPanels>([&](int i, int p) {
      StoreSome(tile.y + i * tile.y_stride + p * kPanel, sum[i][p], tile.columns - p * kPanel);
    });
  }
}

// Of as many rows as there are: kLeast to kRows.
template <class P, int kRows, int kPanels, int kUsed, int kAhead = kFewAhead, int kLeast = 1>
HEADRACE_INLINE void RunTileOf(int rows, const Tile& tile, const Epilogue& epilogue) {
  if constexpr (kRows >= kLeast) {
    if (rows == kRows) {
      RunTile<P, kRows, kPanels, kUsed, kAhead>(tile, epilogue);
    } else {
      RunTileOf<P, kRows - 1, kPanels, kUsed, kAhead, kLeast>(rows, tile, epilogue);
    }
  }
}

}  // namespace headrace::cpu::HEADRACE_ISA
