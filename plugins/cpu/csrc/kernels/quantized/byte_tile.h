// One tile of a product of bytes: sums of some rows and panels, and what becomes of them.
#pragma once

#include "kernels/quantized/byte_epilogue.h"
#include "kernels/quantized/byte_steps.h"

namespace headrace::cpu::HEADRACE_ISA {

struct Tile {
  const ByteProduct& product;
  Size row;     // of the product, the first
  Size column;  // the first
  int columns;
  int rows;
  const std::int32_t* row_sums;  // or none
};

// Calls `f` with each sixteen sums of a tile, corrected, and where they belong.
template <class F>
HEADRACE_INLINE void EachSum(const Tile& tile, const std::int32_t* sums, int width, F f) {
  const std::int32_t* added = tile.product.corrections + tile.column;
  const std::int32_t* zeros = added + PanelCount(tile.product.columns) * kPanel;
  for (int r = 0; r < tile.rows; ++r) {
    for (int c = 0; c < tile.columns; c += kPanel) {
      VI sum = LoadInt(sums + r * width + c) + LoadInt(added + c);
      if (tile.row_sums != nullptr) sum = sum - LoadInt(zeros + c) * BroadcastInt(tile.row_sums[r]);
      f(sum, r, c, tile.columns - c);
    }
  }
}

static void FinishInts(const Tile& tile, const std::int32_t* sums, int width) {
  const ByteProduct& product = tile.product;
  auto* y = static_cast<std::int32_t*>(product.y) + tile.row * product.y_stride + tile.column;
  EachSum(tile, sums, width, [&](VI sum, int r, int c, int columns) HEADRACE_INLINE_LAMBDA {
    StoreSome(y + r * product.y_stride + c, sum, columns);
  });
}

// Calls `f` with each sixteen results that are float.
template <class F>
HEADRACE_INLINE void EachFloat(const Tile& tile, const std::int32_t* sums, int width, F f) {
  const ByteEpilogue& epilogue = tile.product.epilogue;
  const Epilogue& floats = epilogue.floats;
  WithActivation(floats, [&](auto activate) HEADRACE_INLINE_LAMBDA {
    EachSum(tile, sums, width, [&](VI sum, int r, int c, int columns) HEADRACE_INLINE_LAMBDA {
      const Size column = tile.column + c;
      const float* addend = floats.addend == nullptr
                                ? nullptr
                                : floats.addend + (tile.row + r) * floats.addend_stride + column;
      f(FloatsOf(epilogue, sum, column, addend, columns, activate), r, c, columns);
    });
  });
}

// Bytes by a factor and a clamp.
static void FinishBytes(const Tile& tile, const std::int32_t* sums, int width) {
  const ByteProduct& product = tile.product;
  const Requantized& bytes = product.bytes;
  const float* factors = bytes.factors + tile.column;
  const V low = Broadcast(bytes.low), high = Broadcast(bytes.high);
  const VI zero = BroadcastInt(bytes.zero);
  auto* y = static_cast<std::uint8_t*>(product.y) + tile.row * product.y_stride + tile.column;
  EachSum(tile, sums, width, [&](VI sum, int r, int c, int columns) HEADRACE_INLINE_LAMBDA {
    const V v = AtMost(AtLeast(ToFloats(sum) * Load(factors + c), low), high);
    StoreBytes(y + r * product.y_stride + c, NearestInts(v) + zero, columns);
  });
}

static __attribute__((noinline)) void Finish(const Tile& tile, const std::int32_t* sums,
                                             int width) {
  const ByteProduct& product = tile.product;
  const ByteEpilogue& epilogue = product.epilogue;
  if (product.bytes.factors != nullptr) return FinishBytes(tile, sums, width);
  const Size begin = tile.row * product.y_stride + tile.column;
  if (epilogue.made == Made::kInt32) return FinishInts(tile, sums, width);
  if (epilogue.made == Made::kFloat) {
    float* y = static_cast<float*>(product.y) + begin;
    return EachFloat(tile, sums, width, [&](V v, int r, int c, int columns) HEADRACE_INLINE_LAMBDA {
      StoreSome(y + r * product.y_stride + c, v, columns);
    });
  }
  const bool is_signed = epilogue.made == Made::kInt8;
  const Quantizer quantize(*epilogue.y_scale, epilogue.y_zero, is_signed);
  auto* y = static_cast<std::uint8_t*>(product.y) + begin;
  EachFloat(tile, sums, width, [&](V v, int r, int c, int columns) HEADRACE_INLINE_LAMBDA {
    StoreBytes(y + r * product.y_stride + c, quantize(v), columns);
  });
}

// `FinishBytes` of sums in registers, where rows need no correction.
#if defined(__AVX512VNNI__)
// Those of four panels are packed into one.
template <int kRows, int kPanels>
HEADRACE_INLINE void StoreRequantized(const Tile& tile, Reg (&sum)[kRows][kPanels][kRegs]) {
  const ByteProduct& product = tile.product;
  const Requantized& bytes = product.bytes;
  const float* factors = bytes.factors + tile.column;
  const std::int32_t* added = product.corrections + tile.column;
  const __m512 low = _mm512_set1_ps(bytes.low), high = _mm512_set1_ps(bytes.high);
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) {
    const __m512i add = _mm512_loadu_si512(added + p * kPanel);
    const __m512 factor = _mm512_loadu_ps(factors + p * kPanel);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const __m512i whole = _mm512_add_epi32(Bits(sum[r][p][0]), add);
      const __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(whole), factor);
      sum[r][p][0] =
          reinterpret_cast<Reg>(_mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(v, low), high)));
    }
  }
  const __m512i zero = _mm512_set1_epi16(static_cast<short>(bytes.zero));
  const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  const __mmask64 there = ~__mmask64{0} >> (64 - tile.columns);
  const bool is_signed = product.epilogue.made == Made::kInt8;
  auto* y = static_cast<std::uint8_t*>(product.y) + tile.row * product.y_stride + tile.column;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const auto of = [&](int p) { return Bits(sum[r][p < kPanels ? p : 0][0]); };
    const __m512i left = _mm512_add_epi16(_mm512_packs_epi32(of(0), of(1)), zero);
    const __m512i right =
        kPanels > 2 ? _mm512_add_epi16(_mm512_packs_epi32(of(2), of(3)), zero) : left;
    const __m512i packed =
        is_signed ? _mm512_packs_epi16(left, right) : _mm512_packus_epi16(left, right);
    _mm512_mask_storeu_epi8(y + r * product.y_stride, there,
                            _mm512_permutexvar_epi32(order, packed));
  }
}
#else
template <int kRows, int kPanels>
HEADRACE_INLINE void StoreRequantized(const Tile& tile, Reg (&sum)[kRows][kPanels][kRegs]) {
  static_assert(kPanels == 1 && kRegs == kParts, "the registers of a row are its sixteen sums");
  const ByteProduct& product = tile.product;
  const Requantized& bytes = product.bytes;
  const V factors = Load(bytes.factors + tile.column);
  const VI added = LoadInt(product.corrections + tile.column);
  const V low = Broadcast(bytes.low), high = Broadcast(bytes.high);
  const VI zero = BroadcastInt(bytes.zero);
  auto* y = static_cast<std::uint8_t*>(product.y) + tile.row * product.y_stride + tile.column;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    VI whole;
#pragma GCC unroll 4
    for (int i = 0; i < kRegs; ++i) whole.part[i] = sum[r][0][i];
    const V v = AtMost(AtLeast(ToFloats(whole + added) * factors, low), high);
    StoreBytes(y + r * product.y_stride, NearestInts(v) + zero, tile.columns);
  }
}
#endif

// Adds a step of a quad of the depth to the sums of a tile.
template <int kRows, int kPanels>
HEADRACE_INLINE void MulAddQuad(const Item* items, Size stride, Size q, Size quads,
                                const std::int8_t* quad, Size panel_bytes, int step,
                                Reg (&sum)[kRows][kPanels][kRegs]) {
  Reg weights[kPanels][kRegs];
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
    for (int i = 0; i < kRegs; ++i) weights[p][i] = Weights(quad + p * panel_bytes, i, step);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const Reg left = Left(items + r * stride, q, quads, step);
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
      for (int i = 0; i < kRegs; ++i) sum[r][p][i] = MulAdd(left, weights[p][i], sum[r][p][i]);
    }
  }
}

template <int kRows, int kPanels>
static void RunTile(const Tile& tile, const Item* items, Size stride) {
  Reg sum[kRows][kPanels][kRegs];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
      for (int i = 0; i < kRegs; ++i) sum[r][p][i] = Reg{};
    }
  }
  const Size quads = Quads(tile.product.rows.depth), panel_bytes = quads * kPanel * kQuad;
  const std::int8_t* panel = tile.product.panels + tile.column / kPanel * panel_bytes;
  // All steps at once leave no registers for the sums of many rows. Of a few, they read weights,
  // which may come from afar, once.
  constexpr int kAtOnce = kRows <= 2 ? kSteps : 1;
#pragma GCC unroll 4
  for (int first = 0; first < kSteps; first += kAtOnce) {
    const std::int8_t* quad = panel;
    for (Size q = 0; q < quads; ++q, quad += kPanel * kQuad) {
#pragma GCC unroll 4
      for (int step = first; step < first + kAtOnce; ++step) {
        MulAddQuad(items, stride, q, quads, quad, panel_bytes, step, sum);
      }
    }
  }
  if (tile.product.bytes.factors != nullptr && tile.row_sums == nullptr) {
    return StoreRequantized<kRows, kPanels>(tile, sum);
  }
  alignas(64) std::int32_t sums[kRows][kPanels * kPanel];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
      for (int i = 0; i < kRegs; ++i) {
        *reinterpret_cast<LooseIntPart*>(&sums[r][p * kPanel + i * kLanes]) = sum[r][p][i];
      }
    }
  }
  Finish(tile, &sums[0][0], kPanels * kPanel);
}

template <int kRows, int kPanels>
HEADRACE_INLINE void RunTileOf(const Tile& tile, const Item* items, Size stride) {
  if constexpr (kRows > 0) {
    if (tile.rows == kRows) {
      RunTile<kRows, kPanels>(tile, items, stride);
    } else {
      RunTileOf<kRows - 1, kPanels>(tile, items, stride);
    }
  }
}

}  // namespace headrace::cpu::HEADRACE_ISA
