#include "kernels/machine/simd.h"
#include "kernels/products/block_gemm.h"
#include "kernels/products/block_panel.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// Panels of a tile: sums, numbers and zero points of all of them stay in registers.
constexpr int MostPanels(int rows) {
  if (kParts == 1) return rows == 1 ? 4 : 2;
  return kParts == 2 && rows == 1 ? 2 : 1;
}

// What the bits of one place in sixteen words are worth, less the zero points.
template <int kBits, int kPlace>
HEADRACE_INLINE V Number(VI words, VI zero) {
  const VI bits = ShiftRight<kPlace * kBits>(words) & BroadcastInt((1 << kBits) - 1);
  return ToFloats(bits - zero);
}

// Calls `f(place, number)` for the first `count` numbers of sixteen columns in their words.
template <int kBits, int kPlace = 0, class F>
HEADRACE_INLINE void EachNumber(VI words, VI zero, int count, F f) {
  if constexpr (kPlace * kBits < 32) {
    if (kPlace >= count) return;
    f(kPlace, Number<kBits, kPlace>(words, zero));
    EachNumber<kBits, kPlace + 1>(words, zero, count, f);
  }
}

// The numbers in `count` places of one word of each column.
template <int kBits, int kRows, int kPanels>
HEADRACE_INLINE void Step(const float* const (&x)[kRows], Size k, int count,
                          const Panel (&panel)[kPanels], Size word, const VI (&zero)[kPanels],
                          V (&sum)[kRows][kPanels]) {
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) {
    EachNumber<kBits>(panel[p].Words(word), zero[p], count, [&](int place, V number) {
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        sum[i][p] = MulAdd(Broadcast(x[i][k + place]), number, sum[i][p]);
      }
    });
  }
}

template <int kBits, int kRows, int kPanels>
void RunTile(const BlockProduct& product, Size first) {
  constexpr int kPlaces = 32 / kBits;
  const BlockWeights& w = product.weights;
  const float* x[kRows];
  for (int i = 0; i < kRows; ++i) x[i] = product.x + i * w.depth;
  Panel panel[kPanels];
  for (int p = 0; p < kPanels; ++p) panel[p] = Panel(w, first + p);
  V total[kRows][kPanels];
  for (int i = 0; i < kRows; ++i) {
    for (int p = 0; p < kPanels; ++p) total[i][p] = Broadcast(0);
  }
  const Size blocks = w.Blocks(), words = w.BlockWords();
  for (Size b = 0; b < blocks; ++b) {
    V sum[kRows][kPanels];
    VI zero[kPanels];
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      zero[p] = panel[p].template Zero<kBits>(b);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) sum[i][p] = Broadcast(0);
    }
    Size k = b * w.block, word = b * words;
    const Size end = k + w.block < w.depth ? k + w.block : w.depth;
    for (; k + kPlaces <= end; k += kPlaces, ++word) {
      Step<kBits, kRows, kPanels>(x, k, kPlaces, panel, word, zero, sum);
    }
    if (k < end) {
      Step<kBits, kRows, kPanels>(x, k, static_cast<int>(end - k), panel, word, zero, sum);
    }
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      const V scale = panel[p].Scale(b);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) total[i][p] = MulAdd(sum[i][p], scale, total[i][p]);
    }
  }
  Finish<kRows, kPanels>(product, 0, first, total);
}

template <int kBits, int kRows>
void RunRows(const BlockProduct& product, Size begin, Size end) {
  constexpr int kMost = MostPanels(kRows);
  Size p = begin;
  for (; p + kMost <= end; p += kMost) RunTile<kBits, kRows, kMost>(product, p);
  for (; p < end; ++p) RunTile<kBits, kRows, 1>(product, p);
}

template <int kBits>
void FewRowsOf(const BlockProduct& product, Size begin, Size end) {
  switch (product.rows) {
    case 1:
      return RunRows<kBits, 1>(product, begin, end);
    case 2:
      return RunRows<kBits, 2>(product, begin, end);
    case 3:
      return RunRows<kBits, 3>(product, begin, end);
    default:
      return RunRows<kBits, kFewRows>(product, begin, end);
  }
}

void FewRows(const BlockProduct& product, Size begin, Size end) {
  switch (product.weights.bits) {
    case 2:
      return FewRowsOf<2>(product, begin, end);
    case 4:
      return FewRowsOf<4>(product, begin, end);
    default:
      return FewRowsOf<8>(product, begin, end);
  }
}

template <int kBits>
void WidenOf(const BlockWeights& w, Size begin, Size end, float* to) {
  constexpr int kPlaces = 32 / kBits;
  for (Size p = begin; p < end; ++p) {
    const Panel panel(w, p);
    for (Size b = 0; b < w.Blocks(); ++b) {
      const VI zero = panel.template Zero<kBits>(b);
      const V scale = panel.Scale(b);
      Size word = b * w.BlockWords();
      const Size last = (b + 1) * w.block < w.depth ? (b + 1) * w.block : w.depth;
      for (Size k = b * w.block; k < last; k += kPlaces, ++word) {
        const Size left = last - k;
        const int count = left < kPlaces ? static_cast<int>(left) : kPlaces;
        EachNumber<kBits>(panel.Words(word), zero, count, [&](int, V number) {
          Store(to, number * scale);
          to += kPanel;
        });
      }
    }
  }
}

void Widen(const BlockWeights& weights, Size begin, Size end, float* panels) {
  switch (weights.bits) {
    case 2:
      return WidenOf<2>(weights, begin, end, panels);
    case 4:
      return WidenOf<4>(weights, begin, end, panels);
    default:
      return WidenOf<8>(weights, begin, end, panels);
  }
}

}  // namespace

extern const BlockGemmTable kBlockGemm = {FewRows, Widen};

}  // namespace headrace::cpu::HEADRACE_ISA
