// Which instruction set the kernels run on, and how a kernel is written for all of them.
//
// A source that is listed in HEADRACE_ISA_SOURCES of CMakeLists.txt is compiled once for each
// instruction set, each time into another namespace: HEADRACE_ISA is `baseline`, `avx2` or
// `avx512`. Such a source defines one table of functions; everybody else reaches it through
// `HEADRACE_TABLE`. Sources in HEADRACE_DOT_SOURCES are compiled for `avx512_vnni` as well, and
// reached through `HEADRACE_DOT_TABLE`:
//
//     // scale.h, for everybody
//     struct ScaleTable { void (*scale)(const float* x, float factor, float* y, Size count); };
//     HEADRACE_TABLE(ScaleTable, Scales)
//
//     // scale_isa.cpp, compiled once for each
//     #include "scale.h"
//     #include "kernels/machine/simd.h"
//     namespace headrace::cpu::HEADRACE_ISA {
//     static void Scale(const float* x, float factor, float* y, Size count) { ... Load(x) ... }
//     const ScaleTable kScales = {Scale};
//     }
//
//     // anywhere: Scales().scale(x, 2, y, n);
//
// One rule keeps this sound: a template or inline function of the standard library that two of
// these sources share is one function for the linker, and it may keep the copy that only the newest
// machine runs. So they name nothing of it but types of numbers and what C has (a test looks), and
// what they define is static, in their namespace, or always inlined.
#pragma once

#include <cstddef>
#include <cstdint>

#define HEADRACE_INLINE inline __attribute__((always_inline))

// After the parameters of a lambda that takes or gives a `V`: compilers stop to inline at some size
// of a function, and what is handed over by value then goes through memory, in pieces of which the
// processor waits for every one. Functions of numbers took five times as long.
#define HEADRACE_INLINE_LAMBDA __attribute__((always_inline))

// Before a loop whose inputs and outputs never overlap, which pointers alone cannot say.
#if defined(__clang__)
#define HEADRACE_NO_ALIAS_LOOP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define HEADRACE_NO_ALIAS_LOOP _Pragma("GCC ivdep")
#else
#define HEADRACE_NO_ALIAS_LOOP
#endif

namespace headrace::cpu {

using Size = std::int64_t;

// The last is AVX-512 whose dot products of bytes do not saturate; kernels of floats do without.
enum class Isa { kBaseline, kAvx2, kAvx512, kAvx512Vnni };

// The newest that this machine has, or an older one if HEADRACE_CPU_ISA names it; fixed at the
// first call. Baseline is what every machine of the architecture has: SSE2, or NEON. Throws
// std::invalid_argument if the variable says anything else; opening the device asks first.
Isa ActiveIsa();

// "baseline", "avx2", "avx512" or "avx512_vnni".
const char* IsaName(Isa isa);

}  // namespace headrace::cpu

// Declares `const Table& Name()` and, for each instruction set, the `const Table kName` behind it.
#if defined(HEADRACE_X86_ISAS)
#define HEADRACE_TABLE_UP_TO(newest, Table, Name) \
  namespace baseline {                            \
  extern const Table k##Name;                     \
  }                                               \
  namespace avx2 {                                \
  extern const Table k##Name;                     \
  }                                               \
  namespace avx512 {                              \
  extern const Table k##Name;                     \
  }                                               \
  namespace newest {                              \
  extern const Table k##Name;                     \
  }                                               \
  HEADRACE_INLINE const Table& Name() {           \
    switch (ActiveIsa()) {                        \
      case Isa::kAvx512Vnni:                      \
        return newest::k##Name;                   \
      case Isa::kAvx512:                          \
        return avx512::k##Name;                   \
      case Isa::kAvx2:                            \
        return avx2::k##Name;                     \
      default:                                    \
        return baseline::k##Name;                 \
    }                                             \
  }
#define HEADRACE_TABLE(Table, Name) HEADRACE_TABLE_UP_TO(avx512, Table, Name)
#define HEADRACE_DOT_TABLE(Table, Name) HEADRACE_TABLE_UP_TO(avx512_vnni, Table, Name)
#else
#define HEADRACE_TABLE(Table, Name) \
  namespace baseline {              \
  extern const Table k##Name;       \
  }                                 \
  HEADRACE_INLINE const Table& Name() { return baseline::k##Name; }
#define HEADRACE_DOT_TABLE(Table, Name) HEADRACE_TABLE(Table, Name)
#endif
