#include "kernels/machine/byte_registers.h"
#include "kernels/products/block_panel.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

constexpr int kRegs = 64 / kBytes;  // of sixteen words

constexpr Size kQuad = 4;  // bytes that are multiplied and added up at once

// Sixteen columns: one sum in each lane of their registers.
struct Sums {
  Reg reg[kRegs];
};

// Adds the products of four bytes of each column, of numbers of kBits, and of four bytes of a row.
template <int kBits>
HEADRACE_INLINE Reg Dot(Reg numbers, Reg row, Reg sum) {
#if defined(__AVX512VNNI__)
  return MulAdd(numbers, row, sum);
#elif defined(__AVX2__)
  if constexpr (kBits < 8) {  // sums of two are far from what 16 bits hold
    const X86Ints pairs = HEADRACE_X86(maddubs_epi16)(Bits(numbers), Bits(row));
    return sum + Ints(HEADRACE_X86(madd_epi16)(pairs, HEADRACE_X86(set1_epi16)(1)));
  } else {
    return MulAdd(numbers, row, sum);
  }
#else
  return MulAdd(numbers, row, sum);
#endif
}

HEADRACE_INLINE Reg Quad(const std::int8_t* row) {
  std::int32_t bits;
  std::memcpy(&bits, row, sizeof bits);
  return Reg{} + bits;
}

// Every number of kBits at kPlace in its byte.
template <int kBits, int kPlace>
HEADRACE_INLINE Reg Numbers(Reg words) {
  if constexpr (kBits == 8) {
    return words;
  } else {
    constexpr std::int32_t kMask = ((1 << kBits) - 1) * 0x01010101;
    return (words >> (kPlace * kBits)) & kMask;
  }
}

template <int kBits, int kRows, int kPanels, int kPlace = 0>
HEADRACE_INLINE void Step(const Reg (&words)[kPanels][kRegs],
                          const std::int8_t* const (&row)[kRows], Size offset,
                          Sums (&sum)[kRows][kPanels]) {
  if constexpr (kPlace * kBits < 8) {
    Reg numbers[kPanels][kRegs];
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
      for (int r = 0; r < kRegs; ++r) numbers[p][r] = Numbers<kBits, kPlace>(words[p][r]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const Reg quad = Quad(row[i] + offset + kPlace * kQuad);
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
        for (int r = 0; r < kRegs; ++r) {
          sum[i][p].reg[r] = Dot<kBits>(numbers[p][r], quad, sum[i][p].reg[r]);
        }
      }
    }
    Step<kBits, kRows, kPanels, kPlace + 1>(words, row, offset, sum);
  }
}

template <int kBits, int kRows, int kPanels>
void RunTile(const BlockProduct& product, const RoundedRows& rounded, Size first_row, Size first) {
  constexpr Size kPlaces = 32 / kBits;
  const BlockWeights& w = product.weights;
  const Size blocks = w.Blocks(), words = w.BlockWords();
  const std::int8_t* row[kRows];
  for (int i = 0; i < kRows; ++i) row[i] = rounded.bytes + (first_row + i) * blocks * w.block;
  Panel panel[kPanels];
  for (int p = 0; p < kPanels; ++p) panel[p] = Panel(w, first + p);
  V total[kRows][kPanels];
  for (int i = 0; i < kRows; ++i) {
    for (int p = 0; p < kPanels; ++p) total[i][p] = Broadcast(0);
  }
  for (Size b = 0; b < blocks; ++b) {
    Sums sum[kRows][kPanels] = {};
    for (Size word = b * words; word < (b + 1) * words; ++word) {
      Reg read[kPanels][kRegs];
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
        for (int r = 0; r < kRegs; ++r) {
          read[p][r] = LoadWhole(panel[p].words + word * kPanel + r * (kPanel / kRegs));
        }
      }
      Step<kBits, kRows, kPanels>(read, row, word * kPlaces, sum);
    }
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      const VI zero = panel[p].template Zero<kBits>(b);
      const V scale = panel[p].Scale(b);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        const Size at = (first_row + i) * blocks + b;
        VI whole;
#pragma GCC unroll 4
        for (int r = 0; r < kRegs; ++r) whole.part[r] = sum[i][p].reg[r];
        whole = whole - zero * BroadcastInt(rounded.sums[at]);
        const V factor = scale * Broadcast(rounded.scales[at]);
        total[i][p] = MulAdd(ToFloats(whole), factor, total[i][p]);
      }
    }
  }
  Finish<kRows, kPanels>(product, first_row, first, total);
}

// Sums, totals, and numbers of all panels of a tile stay in registers.
constexpr int kMostTileRows = kRegs == 1 ? 4 : kRegs == 2 ? 2 : 1;
constexpr int MostPanels(int rows) { return kRegs > 1 ? 1 : rows == 1 ? 4 : 2; }

template <int kBits, int kRows>
void RunRows(const BlockProduct& product, const RoundedRows& rounded, Size row, Size begin,
             Size end) {
  if constexpr (kRows > 0) {
    const Size left = product.rows - row;
    if (left < kRows) return RunRows<kBits, kRows - 1>(product, rounded, row, begin, end);
    constexpr int kMost = MostPanels(kRows);
    Size p = begin;
    for (; p + kMost <= end; p += kMost) RunTile<kBits, kRows, kMost>(product, rounded, row, p);
    for (; p < end; ++p) RunTile<kBits, kRows, 1>(product, rounded, row, p);
  }
}

template <int kBits>
void PanelsOf(const BlockProduct& product, const RoundedRows& rounded, Size begin, Size end) {
  for (Size row = 0; row < product.rows; row += kMostTileRows) {
    RunRows<kBits, kMostTileRows>(product, rounded, row, begin, end);
  }
}

void Panels(const BlockProduct& product, const RoundedRows& rounded, Size begin, Size end) {
  switch (product.weights.bits) {
    case 2:
      return PanelsOf<2>(product, rounded, begin, end);
    case 4:
      return PanelsOf<4>(product, rounded, begin, end);
    default:
      return PanelsOf<8>(product, rounded, begin, end);
  }
}

// Below it the numbers of a block are nothing: what they would be divided by has no inverse.
constexpr float kLeast = 1e-36f;

// One block, of `count` numbers that are there.
void RoundBlock(const float* x, Size count, const BlockWeights& w, std::int8_t* bytes, float* scale,
                std::int32_t* sum) {
  V most = Broadcast(0);
  Size k = 0;
  for (; k + kWidth <= count; k += kWidth) most = MaxOrNan(most, Abs(Load(x + k)));
  if (k < count) most = MaxOrNan(most, Abs(LoadFirst(x + k, static_cast<int>(count - k))));
  const float largest = Largest(most);
  const V factor = Broadcast(largest > kLeast ? 127 / largest : 0);
  *scale = largest / 127;
  const Size places = 32 / w.bits, steps = 8 / w.bits;
  std::int32_t total = 0;
  for (k = 0; k < w.block; k += kWidth) {
    const Size left = count - k;
    const int some = left >= kWidth ? kWidth : left > 0 ? static_cast<int>(left) : 0;
    const V v = some == 0 ? Broadcast(0) : LoadFirst(x + k, some);
    std::int32_t whole[kWidth];
    StoreInt(whole, NearestInts(v * factor));
    for (Size i = 0; i < kWidth && k + i < w.block; ++i) {
      const Size at = k + i, place = at % places;
      const auto byte = static_cast<std::int8_t>(whole[i]);
      bytes[at - place + place % steps * kQuad + place / steps] = byte;
      total += byte;
    }
  }
  *sum = total;
}

void Round(const BlockProduct& product, const RoundedRows& rounded, Size begin, Size end) {
  const BlockWeights& w = product.weights;
  const Size blocks = w.Blocks();
  for (Size at = begin * blocks; at < end * blocks; ++at) {
    const Size row = at / blocks, k = at % blocks * w.block;
    const Size left = w.depth - k;
    RoundBlock(product.x + row * w.depth + k, left < w.block ? left : w.block, w,
               rounded.bytes + at * w.block, rounded.scales + at, rounded.sums + at);
  }
}

}  // namespace

extern const RoundedGemmTable kRoundedGemm = {Round, Panels};

}  // namespace headrace::cpu::HEADRACE_ISA
