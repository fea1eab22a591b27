// Runs of bytes and elements of any dtype, copied.
#pragma once

#include <cstring>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// Bytes of a copy that are worth a part of their own.
constexpr Size kCopyPartBytes = 1 << 16;

typedef std::int32_t Four __attribute__((vector_size(16)));
typedef std::int32_t LooseFour __attribute__((vector_size(16), aligned(1), may_alias));

HEADRACE_INLINE Four LoadFour(const char* p) { return *reinterpret_cast<const LooseFour*>(p); }
HEADRACE_INLINE void StoreFour(char* p, Four v) { *reinterpret_cast<LooseFour*>(p) = v; }

// Short runs are the rule, and a call of memcpy costs more than they do.
HEADRACE_INLINE void CopyRun(char* to, const char* from, Size bytes) {
  if (bytes > 256) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  Size i = 0;
  for (; i + 16 <= bytes; i += 16) StoreFour(to + i, LoadFour(from + i));
  for (; i + 4 <= bytes; i += 4) std::memcpy(to + i, from + i, 4);
  for (; i < bytes; ++i) to[i] = from[i];
}

template <Size kItem>
HEADRACE_INLINE void CopyItems(char* to, Size to_step, const char* from, Size from_step,
                               Size count) {
  for (Size i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, kItem);
}

inline void CopyItemsOf(Size item, char* to, Size to_step, const char* from, Size from_step,
                        Size count) {
  switch (item) {
    case 1:
      return CopyItems<1>(to, to_step, from, from_step, count);
    case 2:
      return CopyItems<2>(to, to_step, from, from_step, count);
    case 4:
      return CopyItems<4>(to, to_step, from, from_step, count);
    case 8:
      return CopyItems<8>(to, to_step, from, from_step, count);
    default:
      return CopyItems<16>(to, to_step, from, from_step, count);
  }
}

}  // namespace headrace::cpu
