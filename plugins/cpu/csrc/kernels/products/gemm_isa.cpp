#include "kernels/machine/half.h"
#include "kernels/machine/simd.h"
#include "kernels/machine/sizes.h"
#include "kernels/products/activation.h"
#include "kernels/products/gemm.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

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
void FinishWith(const Tile& tile, const float* sums, int rows, int width, const Epilogue& epilogue,
                F activate) {
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

__attribute__((noinline)) void Finish(const Tile& tile, const float* sums, int rows, int width,
                                      const Epilogue& epilogue) {
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

// kUsed: registers of a panel that have columns.
template <class P, int kRows, int kPanels, int kUsed>
void RunTile(const Tile& tile, const Epilogue& epilogue) {
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
      __builtin_prefetch(ahead, 0, 2);
      __builtin_prefetch(ahead + kPanel, 0, 2);
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

template <class P, int kRows, int kPanels, int kUsed>
HEADRACE_INLINE void RunTileOf(int rows, const Tile& tile, const Epilogue& epilogue) {
  if constexpr (kRows > 0) {
    if (rows == kRows) {
      RunTile<P, kRows, kPanels, kUsed>(tile, epilogue);
    } else {
      RunTileOf<P, kRows - 1, kPanels, kUsed>(rows, tile, epilogue);
    }
  }
}

// Floats of panels that stay in the second cache, beside those that come next, while rows go by. A
// product of more depth is done in pieces, each of which adds its sums to those before it.
constexpr Size kPieceFloats = 1 << 17;

// A piece of the depth: some segments, or a part of the only one.
struct Piece {
  Size segment;
  Size segments;
  Size offset;  // in each segment
  Size length;

  Size Depth() const { return segments * length; }
};

struct Pieces {
  const Rows& rows;
  Size count;

  // Whole segments where there are several. The same for any number of panels, which depends on the
  // threads: an addend comes before the first piece or after the only one.
  static Size Count(const Rows& rows, const Epilogue& epilogue) {
    if (epilogue.addend != nullptr && epilogue.addend_last) return 1;  // it may be where sums would
    const Size wanted = CeilDiv(rows.Depth() * kMostPanels * kPanel, kPieceFloats);
    const Size most = rows.segments > 1 ? rows.segments : rows.length;
    return wanted < most ? (wanted > 1 ? wanted : 1) : (most > 1 ? most : 1);
  }

  Piece operator[](Size i) const {
    if (rows.segments > 1) {
      const Size first = rows.segments * i / count;
      return {first, rows.segments * (i + 1) / count - first, 0, rows.length};
    }
    const Size first = rows.length * i / count;
    return {0, 1, first, rows.length * (i + 1) / count - first};
  }
};

// The epilogue of one piece. What is added comes with the first, since its memory may be that of
// the sums. Other pieces are summed for themselves and add what is there by then: on top of a large
// number each step of a sum would lose digits.
Epilogue EpilogueOf(const Product& product, Size piece, Size pieces) {
  Epilogue epilogue = product.epilogue;
  if (piece > 0) {
    epilogue.bias = nullptr;
    epilogue.addend = product.y;
    epilogue.addend_stride = product.y_stride;
  }
  if (piece < pieces - 1) epilogue.activation = Activation::kNone;
  return epilogue;
}

constexpr Size kCacheLine = 64 / sizeof(float);

// As numbers: what is fetched may lie outside the memory.
std::uintptr_t Address(const float* p) { return reinterpret_cast<std::uintptr_t>(p); }
HEADRACE_INLINE void Fetch(std::uintptr_t address) {
  __builtin_prefetch(reinterpret_cast<const void*>(address));
}

// Fetches what the next rows read and these do not. Rows go by in tiles, some floats of each at a
// time, which the processor does not foresee. It is their last segment: of an image, the pixels
// below. Behind the last row there may be nothing, which a fetch may ask for.
HEADRACE_INLINE void FetchRows(const Rows& rows, const float* const* starts, int height,
                               Size offset) {
  const float* const* last = starts + (rows.segments - 1) * kMostRows;
  const auto apart = Address(last[1]) - Address(last[0]);
  for (int r = 0; r < height; ++r) {
    const auto from = Address(last[r]) + static_cast<std::uintptr_t>(height) * apart +
                      static_cast<std::uintptr_t>(offset) * sizeof(float);
    for (Size k = 0; k < rows.length; k += kCacheLine) {
      Fetch(from + static_cast<std::uintptr_t>(k) * sizeof(float));
    }
  }
}

// Floats from a result to the one that is fetched: a write waits until its cache line is there.
constexpr Size kResultsAhead = 1024;

template <int kPanels>
HEADRACE_INLINE void FetchResults(const Tile& tile, int height) {
  for (int r = 0; r < height; ++r) {
    const auto first = Address(tile.y + r * tile.y_stride) + kResultsAhead * sizeof(float);
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      __builtin_prefetch(reinterpret_cast<const void*>(first + p * kPanel * sizeof(float)), 1);
    }
  }
}

// How rows are cut into tiles of at most `most`: of equal height, or one row less. A last one of a
// single row would leave most of the machine idle.
struct Tiles {
  Tiles(Size rows, Size most)
      : count(CeilDiv(rows, most)), least(rows / count), higher(rows % count) {}

  Size First(Size tile) const { return tile * least + (tile < higher ? tile : higher); }
  int Height(Size tile) const { return static_cast<int>(least + (tile < higher)); }

  Size count, least, higher;
};

// Some panels and all rows of a block.
template <class P, int kPanels, int kMost = MostRows(kPanels), int kUsed = kParts>
void RunPanels(const Product& product, Size row_begin, Size row_end, Size column,
               const float** starts) {
  const Rows& rows = product.rows;
  const Size depth = rows.Depth();
  const Tiles tiles(row_end - row_begin, kMost);
  const Pieces pieces{rows, Pieces::Count(rows, product.epilogue)};
  const Size columns = product.columns - column;
  Tile tile;
  tile.zeros = rows.zeros;
  tile.panel_stride = depth * kPanel;
  tile.y_stride = product.y_stride;
  tile.columns = static_cast<int>(columns < kPanels * kPanel ? columns : kPanels * kPanel);
  const auto* panel = static_cast<const typename P::Item*>(product.panels) + column * depth;
  for (Size i = 0; i < pieces.count; ++i) {
    const Piece piece = pieces[i];
    const Epilogue epilogue = EpilogueOf(product, i, pieces.count);
    tile.bias = epilogue.bias == nullptr ? nullptr : epilogue.bias + column;
    tile.starts = starts + piece.segment * kMostRows;
    tile.segments = piece.segments;
    tile.length = piece.length;
    tile.offset = piece.offset;
    tile.panel = panel;
    panel += piece.Depth() * kPanel;

    // The next piece is fetched while this one is multiplied, a part of it with each tile.
    const bool last = i + 1 == pieces.count;
    const auto* next = last ? panel + (kPanels - 1) * tile.panel_stride : panel;
    const Size next_run = (last ? pieces[0] : pieces[i + 1]).Depth() * kPanel;
    const Size fours = piece.segments * (piece.length / 4);
    const Size steps = tiles.count * fours;
    const Size step = steps == 0 ? 0 : CeilDiv(kPanels * next_run, steps);
    tile.ahead_step = step < 2 * kPanel ? step : 2 * kPanel;
    Size ahead = 0;

    for (Size t = 0; t < tiles.count; ++t) {
      const Size first = row_begin + tiles.First(t);
      const int height = tiles.Height(t);
      rows.fill(rows.source, first, height, starts);
      if (ahead >= next_run) {  // on to the run of the next panel
        ahead -= next_run;
        next += tile.panel_stride;
      }
      tile.ahead = next + ahead;
      ahead += fours * tile.ahead_step;
      tile.y = product.y + first * product.y_stride + column;
      if (i == 0 && column == 0 && height > 1) FetchRows(rows, starts, height, 0);
      FetchResults<kPanels>(tile, height);
      tile.addend = epilogue.addend;
      if (tile.addend != nullptr) tile.addend += first * epilogue.addend_stride + column;
      RunTileOf<P, kMost, kPanels, kUsed>(height, tile, epilogue);
    }
  }
}

// As wide as it gets, and rather 3 + 2 than 4 + 1.
int NextPanels(Size left) {
  if (MostRows(kMostPanels) == 1) return 1;
  if (left >= kMostPanels + 2 || left == kMostPanels) return kMostPanels;
  return static_cast<int>(left <= 3 ? left : 3);
}

template <class P>
void BlockOf(const Product& product, Size row_begin, Size row_end, Size panel_begin, Size panel_end,
             const float** starts) {
  // A few rows read every panel once: four at a time hide the latency, at the speed of the memory.
  const bool thin = row_end - row_begin <= MostRows(kMostPanels);
  for (Size p = panel_begin; p < panel_end;) {
    const int panels =
        thin ? static_cast<int>(panel_end - p < 4 ? panel_end - p : 4) : NextPanels(panel_end - p);
    const Size column = p * kPanel;
    switch (panels) {
      case 1:
        if (FillHalf(product.columns - column)) {
          RunPanels<P, 1, kHalfPanelRows, kHalfParts>(product, row_begin, row_end, column, starts);
        } else {
          RunPanels<P, 1>(product, row_begin, row_end, column, starts);
        }
        break;
      case 2:
        RunPanels<P, 2>(product, row_begin, row_end, column, starts);
        break;
      case 3:
        RunPanels<P, 3>(product, row_begin, row_end, column, starts);
        break;
      default:
        RunPanels<P, 4>(product, row_begin, row_end, column, starts);
    }
    p += panels;
  }
}

// Panels of groups, and all rows of a block. Where rows begin is found once for all groups: a group
// of few channels is little work for a row.
template <class P, int kMost, int kUsed>
void RunGroups(const Product& product, Size row_begin, Size row_end, Size panel_begin,
               Size panel_end, const float** starts) {
  const Rows& rows = product.rows;
  const Size panels = PanelCount(product.columns), tile_starts = rows.segments * kMostRows;
  const Size panel_floats = rows.Depth() * kPanel;
  const Tiles tiles(row_end - row_begin, kMost);
  Tile tile;
  tile.segments = rows.segments;
  tile.length = rows.length;
  tile.zeros = rows.zeros;
  tile.panel_stride = panel_floats;
  tile.y_stride = product.y_stride;
  tile.ahead_step = 0;
  for (Size t = 0; t < tiles.count; t += kGroupTiles) {
    const Size end = t + kGroupTiles < tiles.count ? t + kGroupTiles : tiles.count;
    for (Size i = t; i < end; ++i) {
      rows.fill(rows.source, row_begin + tiles.First(i), tiles.Height(i),
                starts + (i - t) * tile_starts);
    }
    for (Size p = panel_begin; p < panel_end; ++p) {
      const Size group = p / panels, column = p % panels * kPanel;
      const Size made = group * product.columns + column, left = product.columns - column;
      tile.columns = static_cast<int>(left < kPanel ? left : kPanel);
      tile.offset = group * product.apart;
      tile.panel = static_cast<const typename P::Item*>(product.panels) + p * panel_floats;
      tile.ahead = tile.panel;
      tile.bias = product.epilogue.bias == nullptr ? nullptr : product.epilogue.bias + made;
      for (Size i = t; i < end; ++i) {
        const Size first = row_begin + tiles.First(i);
        const int height = tiles.Height(i);
        tile.starts = starts + (i - t) * tile_starts;
        tile.y = product.y + first * product.y_stride + made;
        tile.addend = product.epilogue.addend;
        if (tile.addend != nullptr) tile.addend += first * product.epilogue.addend_stride + made;
        if (column == 0 && height > 1) FetchRows(rows, tile.starts, height, tile.offset);
        FetchResults<1>(tile, height);
        RunTileOf<P, kMost, 1, kUsed>(height, tile, product.epilogue);
      }
    }
  }
}

template <class P>
void AnyBlockOf(const Product& product, Size row_begin, Size row_end, Size panel_begin,
                Size panel_end, const float** starts) {
  const auto run = product.groups == 1         ? BlockOf<P>
                   : FillHalf(product.columns) ? RunGroups<P, kHalfPanelRows, kHalfParts>
                                               : RunGroups<P, MostRows(1), kParts>;
  run(product, row_begin, row_end, panel_begin, panel_end, starts);
}

void Block(const Product& product, Size row_begin, Size row_end, Size panel_begin, Size panel_end,
           const float** starts) {
  switch (product.item) {
    case PanelItem::kFloat:
      return AnyBlockOf<Float32>(product, row_begin, row_end, panel_begin, panel_end, starts);
    case PanelItem::kFloat16:
      return AnyBlockOf<Float16>(product, row_begin, row_end, panel_begin, panel_end, starts);
    case PanelItem::kBfloat16:
      return AnyBlockOf<Bfloat16>(product, row_begin, row_end, panel_begin, panel_end, starts);
  }
}

}  // namespace

extern const GemmTable kGemm = {Block};

}  // namespace headrace::cpu::HEADRACE_ISA
