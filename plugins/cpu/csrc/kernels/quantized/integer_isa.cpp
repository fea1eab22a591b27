#include "kernels/machine/x86.h"
#include "kernels/quantized/byte_epilogue.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// Sixteen columns take kRegs registers of sums, and are gone through in kSteps for all of the
// depth. `Item` is what a number of the left matrix is where tiles read it.
#if defined(__AVX512VNNI__)
typedef IntPart Reg;
typedef std::uint8_t Item;
constexpr int kRegs = 1;
constexpr int kSteps = 1;
constexpr int kWidest = kMostPanels;

HEADRACE_INLINE Reg Weights(const std::int8_t* quad, int, int) {
  return reinterpret_cast<Reg>(_mm512_loadu_si512(quad));
}
HEADRACE_INLINE Reg Left(const Item* row, Size quad, Size, int) {
  std::int32_t bits;
  std::memcpy(&bits, row + quad * kQuad, sizeof bits);
  return reinterpret_cast<Reg>(_mm512_set1_epi32(bits));
}
HEADRACE_INLINE Reg MulAdd(Reg left, Reg weights, Reg sum) {
  return reinterpret_cast<Reg>(_mm512_dpbusd_epi32(Bits(sum), Bits(left), Bits(weights)));
}
#elif defined(__SSE2__)
// Instructions that add products of bytes would saturate before AVX-512 VNNI, so those of 16 bits
// are taken. The even ones of bytes become such numbers by two shifts, the odd ones by one: so each
// are gone through for themselves, and a row of the left matrix has all even ones first.
typedef IntPart Reg;
typedef std::int16_t Item;
constexpr int kRegs = kParts;
constexpr int kSteps = 2;
constexpr int kWidest = 1;

HEADRACE_INLINE Reg Weights(const std::int8_t* quad, int i, int step) {
  const X86Ints bytes = Bits(*reinterpret_cast<const LooseIntPart*>(quad + i * kLanes * kQuad));
  const X86Ints high = step == 0 ? HEADRACE_X86(slli_epi16)(bytes, 8) : bytes;
  return Ints(HEADRACE_X86(srai_epi16)(high, 8));
}
HEADRACE_INLINE Reg Left(const Item* row, Size quad, Size quads, int step) {
  std::int32_t bits;
  std::memcpy(&bits, row + 2 * (step * quads + quad), sizeof bits);
  return Reg{} + bits;
}
HEADRACE_INLINE Reg MulAdd(Reg left, Reg weights, Reg sum) {
  return sum + Ints(HEADRACE_X86(madd_epi16)(Bits(left), Bits(weights)));
}
#else
typedef IntPart Reg;
typedef std::int16_t Item;
constexpr int kRegs = kParts;
constexpr int kSteps = kQuad;
constexpr int kWidest = 1;

HEADRACE_INLINE Reg Weights(const std::int8_t* quad, int i, int step) {
  UnsignedPart bytes;
  std::memcpy(&bytes, quad + i * kLanes * kQuad, sizeof bytes);
  return reinterpret_cast<Reg>(bytes << (24 - 8 * step)) >> 24;
}
HEADRACE_INLINE Reg Left(const Item* row, Size quad, Size, int step) {
  return Reg{} + row[quad * kQuad + step];
}
HEADRACE_INLINE Reg MulAdd(Reg left, Reg weights, Reg sum) { return sum + left * weights; }
#endif

// How many rows a tile of so many panels has: its sums, weights and a number of the left matrix
// stay in registers.
constexpr int MostRows(int panels) {
#if defined(__AVX512VNNI__)
  return panels == 4 ? 6 : panels == 3 ? 8 : 12;
#else
  return panels > 0 && kRegs <= 2 ? 12 / kRegs : kRegisters / 8;
#endif
}

// Makes items of a row of bytes, moved up by 0 or 128; behind them come zeros.
#if defined(__SSE2__) && !defined(__AVX512VNNI__)
typedef std::uint32_t Four __attribute__((aligned(1), may_alias));  // bytes, or two numbers

void MakeItems(const std::uint8_t* from, std::uint8_t up, Size depth, Item* to) {
  constexpr std::uint32_t kEven = 0x00ff00ff;
  const std::uint32_t turned = up * 0x01010101u;  // to add 128 turns the highest bit
  Four* even = reinterpret_cast<Four*>(to);
  Four* odd = even + Quads(depth);
  const Size whole = depth / kQuad, rest = depth % kQuad;
  HEADRACE_NO_ALIAS_LOOP
  for (Size q = 0; q < whole; ++q) {
    const std::uint32_t four = reinterpret_cast<const Four*>(from)[q] ^ turned;
    even[q] = four & kEven;
    odd[q] = four >> 8 & kEven;
  }
  if (rest == 0) return;
  std::uint32_t last = 0;
  for (Size k = 0; k < rest; ++k) last |= (from[depth - rest + k] ^ up) << (8 * k);
  even[whole] = last & kEven;
  odd[whole] = last >> 8 & kEven;
}
#else
void MakeItems(const std::uint8_t* from, std::uint8_t up, Size depth, Item* to) {
  if (up != 0 || static_cast<const void*>(from) != static_cast<const void*>(to)) {
    HEADRACE_NO_ALIAS_LOOP
    for (Size k = 0; k < depth; ++k) to[k] = static_cast<std::uint8_t>(from[k] + up);
  }
  for (Size k = depth; k < Quads(depth) * kQuad; ++k) to[k] = 0;
}
#endif

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

void FinishInts(const Tile& tile, const std::int32_t* sums, int width) {
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
void FinishBytes(const Tile& tile, const std::int32_t* sums, int width) {
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

__attribute__((noinline)) void Finish(const Tile& tile, const std::int32_t* sums, int width) {
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
HEADRACE_INLINE void StoreBytesOf(const Tile& tile, Reg (&sum)[kRows][kPanels][kRegs]) {
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
HEADRACE_INLINE void StoreBytesOf(const Tile& tile, Reg (&sum)[kRows][kPanels][kRegs]) {
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
void RunTile(const Tile& tile, const Item* items, Size stride) {
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
    return StoreBytesOf<kRows, kPanels>(tile, sum);
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
