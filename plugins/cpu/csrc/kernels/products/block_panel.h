// What the products of block_gemm.h share: where the blocks of a panel are, and how a tile ends.
#pragma once

#include "kernels/machine/half.h"
#include "kernels/machine/quantize.h"
#include "kernels/machine/simd.h"
#include "kernels/products/activation.h"
#include "kernels/products/block_gemm.h"

namespace headrace::cpu::HEADRACE_ISA {

struct Panel {
  const std::int32_t* words;
  const float* scales;
  const std::uint8_t* zeros;

  Panel() = default;
  Panel(const BlockWeights& w, Size index)
      : words(w.panels + index * w.Blocks() * w.BlockWords() * kPanel),
        scales(w.scales + index * w.Blocks() * kPanel),
        zeros(w.zeros == nullptr ? nullptr : w.zeros + index * w.Blocks() * kPanel) {}

  HEADRACE_INLINE VI Words(Size index) const { return LoadInt(words + index * kPanel); }
  HEADRACE_INLINE V Scale(Size block) const { return Load(scales + block * kPanel); }
  template <int kBits>
  HEADRACE_INLINE VI Zero(Size block) const {
    return zeros == nullptr ? BroadcastInt(1 << (kBits - 1))
                            : LoadBytes<std::uint8_t>(zeros + block * kPanel);
  }
};

// Stores the sums of rows from `row` on and panels from `first` on.
template <int kRows, int kPanels>
HEADRACE_INLINE void Finish(const BlockProduct& product, Size row, Size first,
                            const V (&total)[kRows][kPanels]) {
  const Epilogue& e = product.epilogue;
  const Size columns = product.weights.columns;
  WithActivation(e, [&](auto activate) {
    for (int i = 0; i < kRows; ++i) {
      for (int p = 0; p < kPanels; ++p) {
        const Size column = (first + p) * kPanel;
        const int width = VectorCount(columns - column);
        V y = total[i][p];
        if (e.bias != nullptr) y = y + LoadSome(e.bias + column, width);
        const Size at = (row + i) * columns + column;
        if (e.addend != nullptr && !e.addend_last) y = y + LoadSome(e.addend + at, width);
        y = activate(y);
        if (e.addend != nullptr && e.addend_last) y = y + LoadSome(e.addend + at, width);
        StoreSome(product.y + at, y, width);
      }
    }
  });
}

}  // namespace headrace::cpu::HEADRACE_ISA
