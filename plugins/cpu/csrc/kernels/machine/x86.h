// Intrinsics of x86 by one name for all widths of registers: they differ in what they begin with.
#pragma once

#include "kernels/machine/simd.h"

namespace headrace::cpu::HEADRACE_ISA {

#if defined(__AVX512F__)
typedef __m512 X86Floats;
typedef __m512i X86Ints;
#define HEADRACE_X86(name) _mm512_##name
#elif defined(__AVX__)
typedef __m256 X86Floats;
typedef __m256i X86Ints;
#define HEADRACE_X86(name) _mm256_##name
#elif defined(__SSE2__)
typedef __m128 X86Floats;
typedef __m128i X86Ints;
#define HEADRACE_X86(name) _mm_##name
#endif

#if defined(__SSE2__)
// The intrinsics' own types may alias whatever there is, so gcc would put down sums in each step:
// those are kept as `IntPart`.
HEADRACE_INLINE X86Ints Bits(IntPart x) { return reinterpret_cast<X86Ints>(x); }
HEADRACE_INLINE IntPart Ints(X86Ints x) { return reinterpret_cast<IntPart>(x); }
#endif

}  // namespace headrace::cpu::HEADRACE_ISA
