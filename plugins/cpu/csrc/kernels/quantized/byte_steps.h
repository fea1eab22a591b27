// How a machine multiplies bytes: what tiles read of both sides, and one step of the depth.
#pragma once

#include "kernels/machine/x86.h"
#include "kernels/quantized/integer.h"

namespace headrace::cpu::HEADRACE_ISA {

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

static void MakeItems(const std::uint8_t* from, std::uint8_t up, Size depth, Item* to) {
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
static void MakeItems(const std::uint8_t* from, std::uint8_t up, Size depth, Item* to) {
  if (up != 0 || static_cast<const void*>(from) != static_cast<const void*>(to)) {
    HEADRACE_NO_ALIAS_LOOP
    for (Size k = 0; k < depth; ++k) to[k] = static_cast<std::uint8_t>(from[k] + up);
  }
  for (Size k = depth; k < Quads(depth) * kQuad; ++k) to[k] = 0;
}
#endif

}  // namespace headrace::cpu::HEADRACE_ISA
