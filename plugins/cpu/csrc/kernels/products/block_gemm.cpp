#include "kernels/products/block_gemm.h"

#include <algorithm>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Numbers of the right matrix that are worth a part of their own.
constexpr Size kPartNumbers = 1 << 17;

// Parts begin at a multiple of so many panels: tiles are as wide as they can be.
constexpr Size kTogether = kMostPanels;

// Floats of widened panels: they stay in the second cache while rows go by.
constexpr Size kWidenedFloats = 1 << 18;

void MultiplyFew(const BlockProduct& product) {
  const Size panels = PanelCount(product.weights.columns);
  const Size together = product.weights.depth * kPanel * kTogether;
  ParallelFor(CeilDiv(panels, kTogether), GrainOf(kPartNumbers, together),
              [&](Size begin, Size end) {
                BlockGemm().few_rows(product, begin * kTogether, std::min(end * kTogether, panels));
              });
}

// All rows and panels [begin, end), which are widened first.
void MultiplyWidened(const BlockProduct& product, Size begin, Size end, float* widened) {
  const BlockWeights& w = product.weights;
  BlockGemm().widen(w, begin, end, widened);
  const Size column = begin * kPanel;
  const DenseRows rows{product.x, w.depth};
  Product part{};
  part.rows = MakeRows(&rows, product.rows, w.depth);
  part.panels = widened;
  part.columns = w.columns - column;
  part.y = product.y + column;
  part.y_stride = w.columns;
  part.epilogue = product.epilogue;
  if (part.epilogue.bias != nullptr) part.epilogue.bias += column;
  if (part.epilogue.addend != nullptr) part.epilogue.addend += column;
  const float* starts[kMostRows];
  Gemm().block(part, 0, product.rows, 0, end - begin, starts);
}

}  // namespace

void Multiply(const BlockProduct& product) {
  const BlockWeights& w = product.weights;
  if (product.rows == 0 || w.columns == 0) return;
  if (product.rows <= kFewRows) return MultiplyFew(product);
  const Size panels = PanelCount(w.columns), floats = std::max<Size>(w.depth, 1) * kPanel;
  const Size together = std::clamp<Size>(kWidenedFloats / floats, 1, kMostPanels);
  ParallelFor(CeilDiv(panels, together), 1, [&](Size begin, Size end) {
    const auto bytes = static_cast<std::size_t>(together * floats) * sizeof(float);
    auto* widened = static_cast<float*>(ThreadScratch(bytes));
    for (Size part = begin; part < end; ++part) {
      MultiplyWidened(product, part * together, std::min((part + 1) * together, panels), widened);
    }
  });
}

void MultiplyRounded(const BlockProduct& product, const RoundedRows& rounded) {
  const BlockWeights& w = product.weights;
  if (product.rows == 0 || w.columns == 0) return;
  ParallelFor(product.rows, GrainOf(kPartNumbers, w.depth),
              [&](Size begin, Size end) { RoundedGemm().round(product, rounded, begin, end); });
  const Size panels = PanelCount(w.columns);
  const Size work = product.rows * std::max<Size>(w.depth, 1) * kPanel * kTogether;
  ParallelFor(CeilDiv(panels, kTogether), GrainOf(kPartNumbers, work), [&](Size begin, Size end) {
    const Size last = std::min(end * kTogether, panels);
    RoundedGemm().panels(product, rounded, begin * kTogether, last);
  });
}

}  // namespace headrace::cpu
