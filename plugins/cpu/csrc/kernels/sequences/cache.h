// Caches of what was seen before: keys and values [batch, heads, length, size]. before[b] steps of
// a sequence were there when a call began, and its step i has the place before[b] + i.
#pragma once

#include <cstdint>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// y = past, then zeros, with the steps of x from before[b] on; behind these all is 0 if it clears.
// `past` may be null, or y itself.
struct CacheWrite {
  Size batch, heads;
  Size steps, room, length;  // of x, of past, at most as many as of y, and of y
  Size bytes;                // of one step of one head
  const char* x;
  const char* past;
  const std::int64_t* before;  // [batch]
  char* y;
  bool clears;
};

// With all threads. Throws if a step is outside the cache; nothing is written then.
void WriteCache(const CacheWrite& write);

}  // namespace headrace::cpu
