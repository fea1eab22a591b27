#include "kernels/machine/sizes.h"
#include "kernels/products/gemm.h"
#include "kernels/products/gemm_fetch.h"
#include "kernels/products/gemm_tile.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

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
    const bool many = kPanels > 1 && tiles.count > 1 && step > kFewAhead * kPanel;
    const Size most = (many ? kManyAhead : kFewAhead) * kPanel;
    tile.ahead_step = step < most ? step : most;
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
      if (many) {
        constexpr int kLeast = (kMost + 1) / 2;  // of several tiles of equal height
        RunTileOf<P, kMost, kPanels, kUsed, kManyAhead, kLeast>(height, tile, epilogue);
      } else {
        RunTileOf<P, kMost, kPanels, kUsed>(height, tile, epilogue);
      }
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
