#include "byte_epilogue.h"
#include "x86.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// Sixteen columns take kRegs registers of sums, of which those that are not whole yet are added up
// at the end. `Item` is what a number of the left matrix is where tiles read it: instructions that
// add products of bytes would saturate before AVX-512 VNNI, so those of 16 bits are taken.
#if defined(__AVX512VNNI__)
typedef IntPart Reg;
typedef std::uint8_t Item;
constexpr int kRegs = 1;
constexpr int kWidest = kMostPanels;

HEADRACE_INLINE Reg Weights(const std::int8_t* quad, int) {
  return reinterpret_cast<Reg>(_mm512_loadu_si512(quad));
}
HEADRACE_INLINE Reg Left(const Item* quad) {
  std::int32_t bits;
  std::memcpy(&bits, quad, sizeof bits);
  return reinterpret_cast<Reg>(_mm512_set1_epi32(bits));
}
HEADRACE_INLINE Reg MulAdd(Reg left, Reg weights, Reg sum) {
  return reinterpret_cast<Reg>(_mm512_dpbusd_epi32(Bits(sum), Bits(left), Bits(weights)));
}
HEADRACE_INLINE VI Whole(const Reg (&sum)[kRegs]) { return {{sum[0]}}; }
#elif defined(__SSE2__)
typedef IntPart Reg;
typedef std::int16_t Item;
constexpr int kRegs = 2 * kParts;
constexpr int kWidest = 1;

HEADRACE_INLINE Reg Left(const Item* quad) {
  long long bits;
  std::memcpy(&bits, quad, sizeof bits);
  return Ints(X86Ints{} + bits);
}
HEADRACE_INLINE Reg MulAdd(Reg left, Reg weights, Reg sum) {
  return sum + Ints(HEADRACE_X86(madd_epi16)(Bits(left), Bits(weights)));
}
#if defined(__AVX512BW__)
HEADRACE_INLINE Reg Weights(const std::int8_t* quad, int i) {
  return reinterpret_cast<Reg>(
      _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(quad + 32 * i))));
}
HEADRACE_INLINE VI Whole(const Reg (&sum)[kRegs]) {
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  return {{reinterpret_cast<IntPart>(
      _mm512_add_epi32(_mm512_permutex2var_epi32(Bits(sum[0]), even, Bits(sum[1])),
                       _mm512_permutex2var_epi32(Bits(sum[0]), odd, Bits(sum[1]))))}};
}
#elif defined(__AVX2__)
HEADRACE_INLINE Reg Weights(const std::int8_t* quad, int i) {
  return reinterpret_cast<Reg>(
      _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(quad + 16 * i))));
}
HEADRACE_INLINE VI Whole(const Reg (&sum)[kRegs]) {
  VI r;
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const __m256i pairs = _mm256_hadd_epi32(Bits(sum[2 * i]), Bits(sum[2 * i + 1]));
    r.part[i] = reinterpret_cast<IntPart>(_mm256_permute4x64_epi64(pairs, 0xd8));
  }
  return r;
}
#else
HEADRACE_INLINE Reg Weights(const std::int8_t* quad, int i) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(quad + 8 * i));
  return reinterpret_cast<Reg>(_mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8));
}
HEADRACE_INLINE VI Whole(const Reg (&sum)[kRegs]) {
  VI r;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m128 a = reinterpret_cast<__m128>(sum[2 * i]),
                 b = reinterpret_cast<__m128>(sum[2 * i + 1]);
    const __m128i even = _mm_castps_si128(_mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
    const __m128i odd = _mm_castps_si128(_mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
    r.part[i] = reinterpret_cast<IntPart>(_mm_add_epi32(even, odd));
  }
  return r;
}
#endif
#else
typedef std::int16_t Item;
constexpr int kRegs = 4;  // four columns each
constexpr int kWidest = 1;
typedef std::int32_t Reg __attribute__((vector_size(64)));

HEADRACE_INLINE Reg Weights(const std::int8_t* quad, int i) {
  typedef std::int8_t Bytes __attribute__((vector_size(16)));
  Bytes bytes;
  std::memcpy(&bytes, quad + 16 * i, sizeof bytes);
  return __builtin_convertvector(bytes, Reg);
}
HEADRACE_INLINE Reg Left(const Item* quad) {
  const std::int32_t a = quad[0], b = quad[1], c = quad[2], d = quad[3];
  return Reg{a, b, c, d, a, b, c, d, a, b, c, d, a, b, c, d};
}
HEADRACE_INLINE Reg MulAdd(Reg left, Reg weights, Reg sum) { return sum + left * weights; }
HEADRACE_INLINE VI Whole(const Reg (&sum)[kRegs]) {
  std::int32_t whole[kWidth];
  for (int c = 0; c < kWidth; ++c) {
    const Reg& four = sum[c / 4];
    const int i = c % 4 * 4;
    whole[c] = four[i] + four[i + 1] + four[i + 2] + four[i + 3];
  }
  return LoadInt(whole);
}
#endif

// How many rows a tile of so many panels has: its sums, weights and a number of the left matrix
// stay in registers.
constexpr int MostRows(int panels) {
#if defined(__AVX512VNNI__)
  return panels == 4 ? 6 : panels == 3 ? 8 : 12;
#else
  return panels > 0 && kRegisters == 32 ? 24 / kRegs / panels : kRegs == 4 ? 3 : 1;
#endif
}

void Prepare(const ByteRows& rows, const std::uint8_t* from, Size from_stride, Size count,
             Size stride, void* items, std::int32_t* sums) {
  const std::uint8_t up = rows.item == Byte::kInt8 ? 128 : 0;
  const Size depth = rows.depth;  // what is written may be anything, for a compiler
  for (Size r = 0; r < count; ++r, from += from_stride) {
    Item* to = static_cast<Item*>(items) + r * stride;
    if (up != 0 || static_cast<const void*>(from) != static_cast<const void*>(to)) {
      HEADRACE_NO_ALIAS_LOOP
      for (Size k = 0; k < depth; ++k) to[k] = static_cast<std::uint8_t>(from[k] + up);
    }
    for (Size k = depth; k < stride; ++k) to[k] = 0;
    if (sums == nullptr) continue;
    std::int32_t sum = 0;
    for (Size k = 0; k < depth; ++k) sum += to[k];
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

#if defined(__AVX512VNNI__)
// `FinishBytes` of whole sums in registers: those of four panels are packed into one.
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
#endif

template <int kRows, int kPanels>
void RunTile(const Tile& tile, const Item* items, Size stride) {
  Reg sum[kRows][kPanels][kRegs];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 8
      for (int i = 0; i < kRegs; ++i) sum[r][p][i] = Reg{};
    }
  }
  const Size quads = Quads(tile.product.rows.depth), panel_bytes = quads * kPanel * kQuad;
  const std::int8_t* panel = tile.product.panels + tile.column / kPanel * panel_bytes;
  for (Size q = 0; q < quads; ++q, panel += kPanel * kQuad) {
    if constexpr (kRegs == 1) {
      Reg weights[kPanels];
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) weights[p] = Weights(panel + p * panel_bytes, 0);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const Reg left = Left(items + r * stride + q * kQuad);
#pragma GCC unroll 4
        for (int p = 0; p < kPanels; ++p) {
          sum[r][p][0] = MulAdd(left, weights[p], sum[r][p][0]);
        }
      }
    } else {
      Reg left[kRows];
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) left[r] = Left(items + r * stride + q * kQuad);
#pragma GCC unroll 8
      for (int i = 0; i < kRegs; ++i) {
        const Reg weights = Weights(panel, i);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) sum[r][0][i] = MulAdd(left[r], weights, sum[r][0][i]);
      }
    }
  }
#if defined(__AVX512VNNI__)
  if (tile.product.bytes.factors != nullptr && tile.row_sums == nullptr) {
    return StoreBytesOf<kRows, kPanels>(tile, sum);
  }
#endif
  alignas(64) std::int32_t sums[kRows][kPanels * kPanel];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) StoreInt(&sums[r][p * kPanel], Whole(sum[r][p]));
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
