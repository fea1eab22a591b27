#include "gemm.h"
#include "simd.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// How many rows a tile of so many panels has: its sums, a row of the panels and one number of the
// left matrix stay in registers, and there are enough sums to hide the latency of an addition.
// Compilers spill when every last register is spoken for.
constexpr int MostRows(int panels) {
  if (kRegisters / kParts == 32) return panels == 4 ? 6 : panels == 3 ? 9 : 12;
  if (kRegisters / kParts == 8) return panels == 1 ? 6 : panels == 2 ? 2 : 1;
  return panels == 1 ? 2 : 1;
}

struct Tile {
  const float* const* starts;
  Size segments;
  Size length;
  const float* panel;  // the first
  Size panel_stride;
  float* y;
  Size y_stride;
  const float* bias;
  const float* addend;
  int columns;
};

template <int kRows, int kPanels>
HEADRACE_INLINE void Step(const float* const (&row)[kRows], Size k, const float* panel,
                          Size panel_stride, V (&sum)[kRows][kPanels]) {
  V b[kPanels];
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) b[p] = Load(panel + p * panel_stride);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    const V a = Broadcast(row[i][k]);
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) sum[i][p] = MulAdd(a, b[p], sum[i][p]);
  }
}

HEADRACE_INLINE V LoadSome(const float* p, int columns) {
  return columns >= kPanel ? Load(p) : LoadFirst(p, columns);
}

HEADRACE_INLINE void StoreSome(float* p, V v, int columns) {
  if (columns >= kPanel) {
    Store(p, v);
  } else {
    StoreFirst(p, v, columns);
  }
}

HEADRACE_INLINE V Activate(V x, Activation activation, V alpha, V beta) {
  const V zero = Broadcast(0), one = Broadcast(1);
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kClamp:
      return AtMost(AtLeast(x, alpha), beta);
    case Activation::kLeaky:
      return Select(x < zero, alpha * x, x);
    case Activation::kSigmoid:
      return Sigmoid(x);
    case Activation::kSilu:
      return x * Sigmoid(x);
    case Activation::kHardSigmoid:
      return AtMost(AtLeast(MulAdd(alpha, x, beta), zero), one);
    case Activation::kHardSwish:
      return x * AtMost(AtLeast(MulAdd(alpha, x, beta), zero), one);
  }
  return x;
}

// An epilogue of more than the sums in registers can take: over sums that were put down, so that
// tiles stay small.
__attribute__((noinline)) void Finish(const Tile& tile, const float* sums, int rows, int width,
                                      const Epilogue& epilogue) {
  const V alpha = Broadcast(epilogue.alpha), beta = Broadcast(epilogue.beta);
  const bool adds_first = tile.addend != nullptr && !epilogue.addend_last;
  const bool adds_last = tile.addend != nullptr && epilogue.addend_last;
  for (int i = 0; i < rows; ++i) {
    float* y = tile.y + i * tile.y_stride;
    const float* addend = tile.addend + i * epilogue.addend_stride;
    for (int c = 0; c < tile.columns; c += kPanel) {
      const int columns = tile.columns - c;
      V v = Load(sums + i * width + c);
      if (adds_first) v = v + LoadSome(addend + c, columns);
      v = Activate(v, epilogue.activation, alpha, beta);
      if (adds_last) v = v + LoadSome(addend + c, columns);
      StoreSome(y + c, v, columns);
    }
  }
}

template <int kRows, int kPanels>
void RunTile(const Tile& tile, const Epilogue& epilogue) {
  V sum[kRows][kPanels];
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) {
    const int columns = tile.columns - p * kPanel;
    const V start = tile.bias == nullptr ? Broadcast(0) : LoadSome(tile.bias + p * kPanel, columns);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) sum[i][p] = start;
  }
  const float* panel = tile.panel;
  const float* const* starts = tile.starts;
  for (Size s = 0; s < tile.segments; ++s, starts += kMostRows) {
    const float* row[kRows];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) row[i] = starts[i];
    Size k = 0;
    for (; k + 4 <= tile.length; k += 4, panel += 4 * kPanel) {
      Step<kRows, kPanels>(row, k, panel, tile.panel_stride, sum);
      Step<kRows, kPanels>(row, k + 1, panel + kPanel, tile.panel_stride, sum);
      Step<kRows, kPanels>(row, k + 2, panel + 2 * kPanel, tile.panel_stride, sum);
      Step<kRows, kPanels>(row, k + 3, panel + 3 * kPanel, tile.panel_stride, sum);
    }
    for (; k < tile.length; ++k, panel += kPanel) {
      Step<kRows, kPanels>(row, k, panel, tile.panel_stride, sum);
    }
  }
  if (epilogue.activation > Activation::kClamp || epilogue.addend_last) {
    alignas(64) float sums[kRows][kPanels * kPanel];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) Store(&sums[i][p * kPanel], sum[i][p]);
    }
    Finish(tile, &sums[0][0], kRows, kPanels * kPanel, epilogue);
    return;
  }
  const bool clamp = epilogue.activation == Activation::kClamp;
  const V low = Broadcast(epilogue.alpha), high = Broadcast(epilogue.beta);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    float* y = tile.y + i * tile.y_stride;
    const float* addend = tile.addend + i * epilogue.addend_stride;
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      const int columns = tile.columns - p * kPanel;
      V v = sum[i][p];
      if (tile.addend != nullptr) v = v + LoadSome(addend + p * kPanel, columns);
      if (clamp) v = AtMost(AtLeast(v, low), high);
      StoreSome(y + p * kPanel, v, columns);
    }
  }
}

template <int kRows, int kPanels>
HEADRACE_INLINE void RunTileOf(int rows, const Tile& tile, const Epilogue& epilogue) {
  if constexpr (kRows > 0) {
    if (rows == kRows) {
      RunTile<kRows, kPanels>(tile, epilogue);
    } else {
      RunTileOf<kRows - 1, kPanels>(rows, tile, epilogue);
    }
  }
}

// Tiles of equal height, or one row less: a last one of a single row would leave most of the
// machine idle.
template <int kPanels>
void RunPanels(const Product& product, Size row_begin, Size row_end, Tile tile,
               const float** starts) {
  const Size count = row_end - row_begin;
  const Size tiles = (count + MostRows(kPanels) - 1) / MostRows(kPanels);
  for (Size t = 0; t < tiles; ++t) {
    const Size first = row_begin + count * t / tiles;
    const int rows = static_cast<int>(row_begin + count * (t + 1) / tiles - first);
    product.rows.fill(product.rows.source, first, rows, starts);
    Tile here = tile;
    here.y += first * product.y_stride;
    if (here.addend != nullptr) here.addend += first * product.epilogue.addend_stride;
    RunTileOf<MostRows(kPanels), kPanels>(rows, here, product.epilogue);
  }
}

// As wide as it gets, and rather 3 + 2 than 4 + 1.
int NextPanels(Size left) {
  if (MostRows(kMostPanels) == 1) return 1;
  if (left >= kMostPanels + 2 || left == kMostPanels) return kMostPanels;
  return static_cast<int>(left <= 3 ? left : 3);
}

void Block(const Product& product, Size row_begin, Size row_end, Size panel_begin, Size panel_end,
           const float** starts) {
  const Epilogue& epilogue = product.epilogue;
  const Size depth = product.rows.Depth();
  // A few rows read every panel once: four at a time hide the latency, at the speed of the memory.
  const bool thin = row_end - row_begin <= MostRows(kMostPanels);
  for (Size p = panel_begin; p < panel_end;) {
    const int panels =
        thin ? static_cast<int>(panel_end - p < 4 ? panel_end - p : 4) : NextPanels(panel_end - p);
    const Size column = p * kPanel;
    const Size columns = product.columns - column;
    Tile tile;
    tile.starts = starts;
    tile.segments = product.rows.segments;
    tile.length = product.rows.length;
    tile.panel = product.panels + p * depth * kPanel;
    tile.panel_stride = depth * kPanel;
    tile.y = product.y + column;
    tile.y_stride = product.y_stride;
    tile.bias = epilogue.bias == nullptr ? nullptr : epilogue.bias + column;
    tile.addend = epilogue.addend == nullptr ? nullptr : epilogue.addend + column;
    tile.columns = static_cast<int>(columns < panels * kPanel ? columns : panels * kPanel);
    switch (panels) {
      case 1:
        RunPanels<1>(product, row_begin, row_end, tile, starts);
        break;
      case 2:
        RunPanels<2>(product, row_begin, row_end, tile, starts);
        break;
      case 3:
        RunPanels<3>(product, row_begin, row_end, tile, starts);
        break;
      default:
        RunPanels<4>(product, row_begin, row_end, tile, starts);
    }
    p += panels;
  }
}

}  // namespace

extern const GemmTable kGemm = {Block};

}  // namespace headrace::cpu::HEADRACE_ISA
