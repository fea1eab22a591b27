// Addresses as numbers. What is computed with them may lie outside the memory, as the corner of a
// window does or what is fetched ahead of a loop, and the language has no such pointers.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

constexpr Size kCacheLineBytes = 64;

HEADRACE_INLINE std::uintptr_t Address(const float* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}

// So many floats further on, or back.
HEADRACE_INLINE std::uintptr_t Moved(std::uintptr_t address, Size floats) {
  return address + static_cast<std::uintptr_t>(floats) * sizeof(float);
}

// Has the processor read what is there into its cache; nothing happens where there is no memory.
HEADRACE_INLINE void Fetch(std::uintptr_t address) {
  __builtin_prefetch(reinterpret_cast<const void*>(address));
}
HEADRACE_INLINE void FetchToWrite(std::uintptr_t address) {
  __builtin_prefetch(reinterpret_cast<const void*>(address), 1);
}

}  // namespace headrace::cpu
