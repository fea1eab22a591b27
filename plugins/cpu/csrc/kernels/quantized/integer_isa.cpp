#include "kernels/machine/simd.h"
#include "kernels/quantized/byte_steps.h"
#include "kernels/quantized/byte_tile.h"
#include "kernels/quantized/integer.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

void Prepare(const ByteRows& rows, const std::uint8_t* from, Size from_stride, Size count,
             Size stride, void* items, std::int32_t* sums) {
  const std::uint8_t up = rows.item == Byte::kInt8 ? 128 : 0;
  for (Size r = 0; r < count; ++r, from += from_stride) {
    Item* to = static_cast<Item*>(items) + r * stride;
    MakeItems(from, up, rows.depth, to);
    if (sums == nullptr) continue;
    std::int32_t sum = 0;
    for (Size k = 0; k < Quads(rows.depth) * kQuad; ++k) sum += to[k];
    sums[r] = sum;
  }
}

// Some panels and all rows of a block, in tiles of equal height or one row less.
template <int kPanels>
void RunPanels(const ByteProduct& product, Size first, Size count, const Item* items, Size stride,
               const std::int32_t* row_sums, Size column) {
  const Size tiles = (count + MostRows(kPanels) - 1) / MostRows(kPanels);
  const Size columns = product.columns - column;
  Tile tile{product, first,
            column,  static_cast<int>(columns < kPanels * kPanel ? columns : kPanels * kPanel),
            0,       row_sums};
  const Size least = count / tiles, higher = count % tiles;
  for (Size t = 0; t < tiles; ++t) {
    tile.rows = static_cast<int>(least + (t < higher));
    RunTileOf<MostRows(kPanels), kPanels>(tile, items, stride);
    tile.row += tile.rows;
    items += tile.rows * stride;
    if (row_sums != nullptr) tile.row_sums += tile.rows;
  }
}

void Block(const ByteProduct& product, Size first, Size count, const void* items, Size stride,
           const std::int32_t* row_sums, Size panel_begin, Size panel_end) {
  const Item* left = static_cast<const Item*>(items);
  for (Size p = panel_begin; p < panel_end;) {
    const Size rest = panel_end - p;
    const int panels = static_cast<int>(rest < kWidest ? rest : kWidest);
    const Size column = p * kPanel;
    if constexpr (kWidest == 1) {
      RunPanels<1>(product, first, count, left, stride, row_sums, column);
    } else {
      switch (panels) {
        case 1:
          RunPanels<1>(product, first, count, left, stride, row_sums, column);
          break;
        case 2:
          RunPanels<2>(product, first, count, left, stride, row_sums, column);
          break;
        case 3:
          RunPanels<3>(product, first, count, left, stride, row_sums, column);
          break;
        default:
          RunPanels<4>(product, first, count, left, stride, row_sums, column);
      }
    }
    p += panels;
  }
}

}  // namespace

extern const ByteGemmTable kByteGemm = {sizeof(Item), Prepare, Block};

}  // namespace headrace::cpu::HEADRACE_ISA
