#include "activation.h"
#include "block_gemm.h"
#include "half.h"
#include "quantize.h"
#include "simd.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// Panels of a tile: sums, numbers and zero points of all of them stay in registers.
constexpr int MostPanels(int rows) {
  if (kParts == 1) return rows == 1 ? 4 : 2;
  return kParts == 2 && rows == 1 ? 2 : 1;
}

// What the bits of one place in sixteen bytes are worth, less the zero points.
template <int kBits, int kPlace>
HEADRACE_INLINE V Number(VI bytes, VI zero) {
  VI bits = ShiftRight<kPlace * kBits>(bytes);
  if constexpr ((kPlace + 1) * kBits < 8) bits = bits & BroadcastInt((1 << kBits) - 1);
  return ToFloats(bits - zero);
}

// Calls `f(place, number)` for the first `count` numbers of sixteen columns that share their bytes.
template <int kBits, int kPlace = 0, class F>
HEADRACE_INLINE void EachNumber(VI bytes, VI zero, int count, F f) {
  if constexpr (kPlace * kBits < 8) {
    if (kPlace >= count) return;
    f(kPlace, Number<kBits, kPlace>(bytes, zero));
    EachNumber<kBits, kPlace + 1>(bytes, zero, count, f);
  }
}

// The blocks of one panel.
struct Panel {
  const std::uint8_t* bytes;
  const float* scales;
  const std::uint8_t* zeros;

  Panel() = default;
  Panel(const BlockWeights& w, Size index)
      : bytes(w.panels + index * w.Blocks() * w.BlockBytes() * kPanel),
        scales(w.scales + index * w.Blocks() * kPanel),
        zeros(w.zeros == nullptr ? nullptr : w.zeros + index * w.Blocks() * kPanel) {}

  template <int kBits>
  HEADRACE_INLINE VI Zero(Size block) const {
    return zeros == nullptr ? BroadcastInt(1 << (kBits - 1))
                            : LoadBytes<std::uint8_t>(zeros + block * kPanel);
  }
};

// The numbers in `count` places of one byte of each column.
template <int kBits, int kRows, int kPanels>
HEADRACE_INLINE void Step(const float* const (&x)[kRows], Size k, int count,
                          const std::uint8_t* const (&bytes)[kPanels], Size offset,
                          const VI (&zero)[kPanels], V (&sum)[kRows][kPanels]) {
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) {
    const VI some = LoadBytes<std::uint8_t>(bytes[p] + offset);
    EachNumber<kBits>(some, zero[p], count, [&](int place, V number) {
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        sum[i][p] = MulAdd(Broadcast(x[i][k + place]), number, sum[i][p]);
      }
    });
  }
}

template <int kBits, int kRows, int kPanels>
void RunTile(const BlockProduct& product, Size first) {
  constexpr int kPlaces = 8 / kBits;
  const BlockWeights& w = product.weights;
  const float* x[kRows];
  for (int i = 0; i < kRows; ++i) x[i] = product.x + i * w.depth;
  Panel panel[kPanels];
  const std::uint8_t* bytes[kPanels];
  for (int p = 0; p < kPanels; ++p) {
    panel[p] = Panel(w, first + p);
    bytes[p] = panel[p].bytes;
  }
  V total[kRows][kPanels];
  for (int i = 0; i < kRows; ++i) {
    for (int p = 0; p < kPanels; ++p) total[i][p] = Broadcast(0);
  }
  const Size blocks = w.Blocks(), step = w.BlockBytes() * kPanel;
  for (Size b = 0; b < blocks; ++b) {
    V sum[kRows][kPanels];
    VI zero[kPanels];
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      zero[p] = panel[p].template Zero<kBits>(b);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) sum[i][p] = Broadcast(0);
    }
    Size k = b * w.block, offset = b * step;
    const Size end = k + w.block < w.depth ? k + w.block : w.depth;
    for (; k + kPlaces <= end; k += kPlaces, offset += kPanel) {
      Step<kBits, kRows, kPanels>(x, k, kPlaces, bytes, offset, zero, sum);
    }
    if (k < end) {
      Step<kBits, kRows, kPanels>(x, k, static_cast<int>(end - k), bytes, offset, zero, sum);
    }
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      const V scale = Load(panel[p].scales + b * kPanel);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) total[i][p] = MulAdd(sum[i][p], scale, total[i][p]);
    }
  }
  const Epilogue& e = product.epilogue;
  WithActivation(e, [&](auto activate) {
    for (int i = 0; i < kRows; ++i) {
      for (int p = 0; p < kPanels; ++p) {
        const Size column = (first + p) * kPanel, left = w.columns - column;
        const int width = left < kPanel ? static_cast<int>(left) : kPanel;
        V y = total[i][p];
        if (e.bias != nullptr) y = y + LoadSome(e.bias + column, width);
        const float* addend =
            e.addend == nullptr ? nullptr : e.addend + i * e.addend_stride + column;
        if (addend != nullptr && !e.addend_last) y = y + LoadSome(addend, width);
        y = activate(y);
        if (addend != nullptr && e.addend_last) y = y + LoadSome(addend, width);
        StoreSome(product.y + i * w.columns + column, y, width);
      }
    }
  });
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
  constexpr int kPlaces = 8 / kBits;
  for (Size p = begin; p < end; ++p) {
    const Panel panel(w, p);
    for (Size b = 0; b < w.Blocks(); ++b) {
      const VI zero = panel.template Zero<kBits>(b);
      const V scale = Load(panel.scales + b * kPanel);
      const std::uint8_t* bytes = panel.bytes + b * w.BlockBytes() * kPanel;
      const Size last = (b + 1) * w.block < w.depth ? (b + 1) * w.block : w.depth;
      for (Size k = b * w.block; k < last; k += kPlaces, bytes += kPanel) {
        const Size left = last - k;
        const int count = left < kPlaces ? static_cast<int>(left) : kPlaces;
        EachNumber<kBits>(LoadBytes<std::uint8_t>(bytes), zero, count, [&](int, V number) {
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
