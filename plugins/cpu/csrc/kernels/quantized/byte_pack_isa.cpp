#include "kernels/machine/byte_registers.h"
#include "kernels/quantized/byte_pack.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

constexpr int kPiece = 16;  // bytes of a row in one panel, and of four columns in a quad
constexpr int kQuadBytes = kPanel * kQuad;
constexpr int kColumns = kBytes;

// What turns bytes into those that are 128 less, of so many columns; the others stay zero.
Reg Turned(std::uint8_t down, int columns) {
  std::uint8_t bytes[kBytes] = {};
  for (int c = 0; c < kBytes && c < columns; ++c) bytes[c] = down;
  return LoadWhole(bytes);
}

// A register is one row of several panels; each sixteen bytes of it are of one.
void PackRows(const BytePanels& panels, std::int8_t* to) {
  const Size depth = panels.depth, panel = Quads(depth) * kQuadBytes;
  const int columns = panels.columns, count = (columns + kPanel - 1) / kPanel;
  const Reg turned = Turned(panels.down, columns);
  const std::uint8_t* from = panels.from;
  for (Size k = 0; k < depth; k += kQuad, to += kQuadBytes) {
    Reg rows[kQuad] = {};
    for (Size i = 0; i < kQuad && k + i < depth; ++i, from += panels.stride) {
      rows[i] = LoadSomeBytes(from, columns) ^ turned;
    }
    const Reg low01 = Low8(rows[0], rows[1]), high01 = High8(rows[0], rows[1]);
    const Reg low23 = Low8(rows[2], rows[3]), high23 = High8(rows[2], rows[3]);
    std::int8_t quads[kQuad][kBytes];
    StoreWhole(quads[0], Low16(low01, low23));
    StoreWhole(quads[1], High16(low01, low23));
    StoreWhole(quads[2], Low16(high01, high23));
    StoreWhole(quads[3], High16(high01, high23));
    for (int p = 0; p < count; ++p) {
      for (int i = 0; i < kQuad; ++i) {
        std::memcpy(to + p * panel + i * kPiece, quads[i] + p * kPiece, kPiece);
      }
    }
  }
}

// Quads of one column, which lie in it one after another.
void PackColumn(const std::uint8_t* from, Size depth, std::uint8_t down, std::int8_t* to) {
  const std::uint32_t turned = down * 0x01010101u;
  const Size whole = depth / kQuad * kQuad;
  for (Size k = 0; k < whole; k += kQuad, to += kQuadBytes) {
    std::uint32_t four;
    std::memcpy(&four, from + k, sizeof four);
    four ^= turned;
    std::memcpy(to, &four, sizeof four);
  }
  for (Size k = whole; k < depth; ++k) to[k - whole] = static_cast<std::int8_t>(from[k] ^ down);
}

#if defined(__SSE2__)
// Sixteen of the depth of sixteen columns, by fours: words change places with columns.
void PackSquare(const std::uint8_t* from, Size stride, __m128i turned, std::int8_t* to) {
  for (int c = 0; c < kPanel; c += 4, from += 4 * stride, to += kPiece) {
    __m128i x[4];
    for (int i = 0; i < 4; ++i) {
      x[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * stride)) ^ turned;
    }
    const __m128i low01 = _mm_unpacklo_epi32(x[0], x[1]), high01 = _mm_unpackhi_epi32(x[0], x[1]);
    const __m128i low23 = _mm_unpacklo_epi32(x[2], x[3]), high23 = _mm_unpackhi_epi32(x[2], x[3]);
    __m128i* quad = reinterpret_cast<__m128i*>(to);
    _mm_storeu_si128(quad, _mm_unpacklo_epi64(low01, low23));
    _mm_storeu_si128(quad + 4, _mm_unpackhi_epi64(low01, low23));
    _mm_storeu_si128(quad + 8, _mm_unpacklo_epi64(high01, high23));
    _mm_storeu_si128(quad + 12, _mm_unpackhi_epi64(high01, high23));
  }
}
#endif

// One panel whose columns lie one after another.
void PackColumns(const BytePanels& panels, int columns, const std::uint8_t* from, std::int8_t* to) {
  Size done = 0;
#if defined(__SSE2__)
  const __m128i turned = _mm_set1_epi8(static_cast<char>(panels.down));
  for (; columns == kPanel && done + kPiece <= panels.depth; done += kPiece) {
    PackSquare(from + done, panels.stride, turned, to + done / kQuad * kQuadBytes);
  }
#endif
  std::int8_t* rest = to + done / kQuad * kQuadBytes;
  const Size left = panels.depth - done;
  if (columns < kPanel || left % kQuad != 0) {
    for (Size i = 0; i < Quads(left) * kQuadBytes; ++i) rest[i] = 0;
  }
  for (int c = 0; c < columns; ++c) {
    PackColumn(from + c * panels.stride + done, left, panels.down, rest + c * kQuad);
  }
}

// Of the columns of a packed panel.
void Sum(const std::int8_t* panel, Size quads, int columns, std::int32_t* sums) {
  constexpr int kRegs = kQuadBytes / kBytes;
  const Reg ones = Fill8(1);
  Reg totals[kRegs] = {};
  for (Size q = 0; q < quads; ++q, panel += kQuadBytes) {
    for (int i = 0; i < kRegs; ++i) {
      totals[i] = MulAdd(ones, LoadWhole(panel + i * kBytes), totals[i]);
    }
  }
  std::int32_t all[kPanel];
  for (int i = 0; i < kRegs; ++i) StoreWhole(all + i * kBytes / kQuad, totals[i]);
  std::memcpy(sums, all, static_cast<std::size_t>(columns) * sizeof *sums);
}

void Pack(const BytePanels& panels, std::int8_t* to, std::int32_t* sums) {
  const Size quads = Quads(panels.depth);
  if (!panels.transposed) PackRows(panels, to);
  for (int c = 0; c < panels.columns; c += kPanel, to += quads * kQuadBytes) {
    const int columns = panels.columns - c < kPanel ? panels.columns - c : kPanel;
    if (panels.transposed) PackColumns(panels, columns, panels.from + c * panels.stride, to);
    Sum(to, quads, columns, sums + c);
  }
}

}  // namespace

extern const BytePackTable kBytePacks = {kColumns, Pack};

}  // namespace headrace::cpu::HEADRACE_ISA
