#include "kernels/sequences/cache.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {

void WriteCache(const CacheWrite& w) {
  for (Size b = 0; w.steps > 0 && b < w.batch; ++b) {
    if (w.before[b] >= 0 && w.before[b] <= w.length - w.steps) continue;
    throw std::out_of_range("cache_write: " + std::to_string(w.steps) + " steps after " +
                            std::to_string(w.before[b]) + " are outside a cache of " +
                            std::to_string(w.length));
  }
  const auto bytes = [&w](Size steps) { return static_cast<std::size_t>(steps * w.bytes); };
  ParallelFor(w.batch * w.heads, 1, [&](Size begin, Size end) {
    for (Size i = begin; i < end; ++i) {
      const char* past = w.past == nullptr ? nullptr : w.past + i * w.room * w.bytes;
      char* y = w.y + i * w.length * w.bytes;
      const auto copy = [&](Size from, Size to) {
        if (from < to && y != past) {
          std::memcpy(y + from * w.bytes, past + from * w.bytes, bytes(to - from));
        }
      };
      const auto clear = [&](Size from, Size to) {
        if (from < to) std::memset(y + from * w.bytes, 0, bytes(to - from));
      };
      const Size first = std::clamp<Size>(w.before[i / w.heads], 0, w.length);
      const Size last = first + w.steps, kept = past == nullptr ? 0 : w.room;
      const Size rest = w.clears ? last : std::max(kept, last);  // nothing is from there on
      copy(0, std::min(first, kept));
      clear(kept, first);
      if (w.steps > 0)
        std::memcpy(y + first * w.bytes, w.x + i * w.steps * w.bytes, bytes(w.steps));
      copy(last, std::min(kept, rest));
      clear(rest, w.length);
    }
  });
}

}  // namespace headrace::cpu
