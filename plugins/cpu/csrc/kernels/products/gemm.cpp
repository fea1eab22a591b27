#include "kernels/products/gemm.h"

#include <algorithm>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"
#include "kernels/moves/transpose.h"

namespace headrace::cpu {
namespace {

// Floats that stay in the second cache while others go by.
constexpr Size kStayingFloats = 1 << 17;

// Multiplications and additions that are worth a part of their own.
constexpr Size kPartWork = Size{1} << 20;

// Parts for each thread, so that one that is held up leaves little to wait for.
constexpr Size kPartsPerThread = 4;

// Rows that are worth a share of their own: some tiles.
constexpr Size kShareRows = 24;

// Starts of runs that are kept on the stack.
constexpr Size kFewStarts = 64 * kMostRows;

// Numbers to pack that are worth a part of their own.
constexpr Size kPackedFloats = 1 << 15;

// Of a column, packed before the next one.
constexpr Size kPackedDepth = 128;

void FillDense(const void* source, Size first, int count, const float** starts) {
  const auto& rows = *static_cast<const DenseRows*>(source);
  for (int i = 0; i < count; ++i) starts[i] = rows.first + (first + i) * rows.stride;
}

// Whether rows of b follow each other as the elements of a column do.
template <class Row>
bool AreInTurn(Row row, Size begin, Size end) {
  for (Size k = begin + 1; k < end; ++k) {
    if (row(k) != row(begin) + k - begin) return false;
  }
  return true;
}

// b[k, j] is b[row(k) + j * column_stride].
template <class T, class Row>
void PackPanels(const T* b, Size depth, Size columns, Size column_stride, Row row, T* panels) {
  constexpr Size kItem = sizeof(T);
  const Size grain = GrainOf(kPackedFloats, depth * kPanel);
  ParallelFor(PanelCount(columns), grain, [&](Size begin, Size end) {
    for (Size p = begin; p < end; ++p) {
      const Size first = p * kPanel, width = std::min<Size>(kPanel, columns - first);
      T* to = panels + p * depth * kPanel;
      if (width < kPanel) std::fill(to, to + depth * kPanel, T{});
      if (column_stride == 1) {
        for (Size k = 0; k < depth; ++k) std::copy_n(b + row(k) + first, width, to + k * kPanel);
        continue;
      }
      // Some of each column at a time, so that what is written stays in the first cache.
      for (Size k = 0; k < depth; k += kPackedDepth) {
        const Size end_of_some = std::min(k + kPackedDepth, depth);
        if (AreInTurn(row, k, end_of_some)) {
          Transpose(reinterpret_cast<const char*>(b + first * column_stride + row(k)),
                    column_stride * kItem, reinterpret_cast<char*>(to + k * kPanel), kPanel * kItem,
                    end_of_some - k, width, kItem);
          continue;
        }
        for (Size i = 0; i < width; ++i) {
          const T* from = b + (first + i) * column_stride;
          for (Size j = k; j < end_of_some; ++j) to[j * kPanel + i] = from[row(j)];
        }
      }
    }
  });
}

template <class T>
void PackScattered(const ScatteredMatrix<T>& b, Size depth, Size columns, T* panels) {
  const Size* rows = b.rows;
  PackPanels(b.first, depth, columns, b.column_stride, [rows](Size k) { return rows[k]; }, panels);
}

// Into how many parts the rows and the panels of a product are cut, and how many parts go together.
struct Cut {
  Size rows, panels, grain;
};

// Of each of `count` products that have `panels`, those of all groups.
Cut CutOf(const Product& product, Size count, Size panels) {
  const Size rows = product.rows.count, depth = product.rows.Depth();
  const Size work = rows * panels * kPanel * std::max<Size>(depth, 1);
  const Size wanted =
      Threads() == 1 ? 1 : std::min(kPartsPerThread * Threads(), count * work / kPartWork + 1);
  // Panels that stay in the second cache are read again for every few rows, and what is made is
  // written in order. Others go by as seldom as can be: in blocks of as many rows as stay there. A
  // run of a row is a pixel of an image, which the rows around it read as well.
  const bool panels_stay = panels * kPanel * depth <= kStayingFloats;
  const Size length = std::max<Size>(product.rows.length, 1);
  const Size fitting = std::max<Size>(kStayingFloats / length / kBlockRows, 1) * kBlockRows;
  const Size block = panels_stay ? kBlockRows : fitting;
  Size row_parts =
      std::clamp<Size>(CeilDiv(wanted, count), CeilDiv(rows, block), CeilDiv(rows, kBlockRows));
  // Each thread has its share of the rows, when there are enough of them, and of the panels else.
  const Size shares = wanted == 1 ? 1 : Threads();
  if (rows >= shares * kShareRows) row_parts = RoundUp(row_parts, shares);
  Size panel_parts =
      std::clamp<Size>(CeilDiv(wanted, count * row_parts), 1, CeilDiv(panels, kMostPanels));
  if (row_parts % shares != 0) panel_parts = std::min(RoundUp(panel_parts, shares), panels);
  // Small products go in larger parts, so that none is worth less than handing it over.
  return {row_parts, panel_parts, std::max<Size>(1, count * row_parts * panel_parts / wanted)};
}

}  // namespace

Rows MakeRows(const DenseRows* source, Size count, Size depth) {
  return {FillDense, source, count, 1, depth, nullptr};
}

void Multiply(const Product* products, Size count) {
  if (count == 0 || products[0].rows.count == 0 || products[0].columns == 0) return;
  const Size rows = products[0].rows.count, groups = products[0].groups;
  const Size panels = groups * PanelCount(products[0].columns);
  const Cut cut = CutOf(products[0], count, panels);
  const Size starts_wanted = products[0].rows.segments * kMostRows * (groups > 1 ? kGroupTiles : 1);
  ParallelFor(count * cut.rows * cut.panels, cut.grain, [&](Size begin, Size end) {
    const float* few[kFewStarts];
    const float** starts = few;
    if (starts_wanted > kFewStarts) {
      starts = static_cast<const float**>(
          ThreadScratch(static_cast<std::size_t>(starts_wanted) * sizeof(const float*)));
    }
    for (Size part = begin; part < end; ++part) {
      const Size p = part % cut.panels, r = part / cut.panels % cut.rows;
      Gemm().block(products[part / (cut.rows * cut.panels)], rows * r / cut.rows,
                   rows * (r + 1) / cut.rows, panels * p / cut.panels,
                   panels * (p + 1) / cut.panels, starts);
    }
  });
}

void Pack(const float* b, Size depth, Size columns, Size stride, bool transposed, float* panels) {
  if (transposed) {
    PackPanels(b, depth, columns, stride, [](Size k) { return k; }, panels);
  } else {
    PackPanels(b, depth, columns, 1, [stride](Size k) { return k * stride; }, panels);
  }
}

void Pack(const ScatteredMatrix<float>& b, Size depth, Size columns, float* panels) {
  PackScattered(b, depth, columns, panels);
}

void Pack(const ScatteredMatrix<std::uint16_t>& b, Size depth, Size columns,
          std::uint16_t* panels) {
  PackScattered(b, depth, columns, panels);
}

void Pack(const ScatteredMatrix<Word>& b, Size depth, Size columns, Word* panels) {
  PackScattered(b, depth, columns, panels);
}

void Pack(const ScatteredMatrix<std::uint8_t>& b, Size depth, Size columns, std::uint8_t* panels) {
  PackScattered(b, depth, columns, panels);
}

}  // namespace headrace::cpu
