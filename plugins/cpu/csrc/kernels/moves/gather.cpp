#include "kernels/moves/gather.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Bytes that are worth a part of their own.
constexpr Size kPartBytes = 1 << 16;

[[noreturn]] void Fail(Size index, Size length) {
  throw std::out_of_range("index " + std::to_string(index) + " is outside an axis of " +
                          std::to_string(length) + " elements");
}

template <class I>
Size At(I index, Size length) {
  const Size given = static_cast<Size>(index);
  const Size at = given < 0 ? given + length : given;
  if (at < 0 || at >= length) Fail(given, length);
  return at;
}

// Calls `move(bytes)`, for small sizes with a constant: the compiler then knows how to copy them.
template <class Move>
void OfSize(Size bytes, const Move& move) {
  switch (bytes) {
    case 1:
      return move(std::integral_constant<Size, 1>());
    case 2:
      return move(std::integral_constant<Size, 2>());
    case 4:
      return move(std::integral_constant<Size, 4>());
    case 8:
      return move(std::integral_constant<Size, 8>());
    case 16:
      return move(std::integral_constant<Size, 16>());
    default:
      return move(bytes);
  }
}

}  // namespace

template <class I>
void Gather(const char* x, const I* indices, char* y, Size outer, Size length, Size count,
            Size bytes) {
  const Size grain = std::max<Size>(1, kPartBytes / std::max<Size>(1, bytes));
  ParallelFor(outer * count, grain, [&](Size begin, Size end) {
    OfSize(bytes, [&](auto size) {
      Size k = begin % count;
      const char* from = x + begin / count * length * size;
      for (Size part = begin; part < end; ++part) {
        std::memcpy(y + part * size, from + At(indices[k], length) * size,
                    static_cast<std::size_t>(Size{size}));
        if (++k == count) {
          k = 0;
          from += length * size;
        }
      }
    });
  });
}

template <class I>
void GatherElements(const char* x, const I* indices, char* y, Size outer, Size length, Size count,
                    Size inner, Size item) {
  const Size grain = std::max<Size>(1, kPartBytes / std::max<Size>(1, inner * item));
  ParallelFor(outer * count, grain, [&](Size begin, Size end) {
    OfSize(item, [=](auto size) {
      for (Size row = begin; row < end;) {
        // The rows of one part of x: where they are read is not worth a division for each.
        const char* from = x + row / count * length * inner * size;
        const Size stop = std::min(end, (row / count + 1) * count);
        if (inner == 1) {
          for (; row < stop; ++row) {
            std::memcpy(y + row * size, from + At(indices[row], length) * size,
                        static_cast<std::size_t>(Size{size}));
          }
          continue;
        }
        for (; row < stop; ++row) {
          const I* chosen = indices + row * inner;
          char* to = y + row * inner * size;
          for (Size i = 0; i < inner; ++i) {
            std::memcpy(to + i * size, from + (At(chosen[i], length) * inner + i) * size,
                        static_cast<std::size_t>(Size{size}));
          }
        }
      }
    });
  });
}

template <class I>
void GatherElements(const char* x, const I* indices, char* y, const ElementPlaces& places,
                    Size item) {
  const Size inner = places.inner();
  const Size grain = std::max<Size>(1, kPartBytes / std::max<Size>(1, inner * item));
  ParallelFor(places.rows(), grain, [&](Size begin, Size end) {
    OfSize(item, [&](auto size) {
      for (Size row = begin; row < end; ++row) {
        const char* from = x + places.Row(row) * size;
        const I* chosen = indices + row * inner;
        char* to = y + row * inner * size;
        for (Size i = 0; i < inner; ++i) {
          const Size at = At(chosen[i], places.length()) * places.along() + i * places.step();
          std::memcpy(to + i * size, from + at * size, static_cast<std::size_t>(Size{size}));
        }
      }
    });
  });
}

template <class I>
void GatherNd(const char* x, const I* indices, char* y, Size outer, Size count,
              const std::vector<Size>& lengths, Size bytes) {
  const Size grain = std::max<Size>(1, kPartBytes / std::max<Size>(1, bytes));
  const Size depth = static_cast<Size>(lengths.size());
  ParallelFor(outer * count, grain, [&](Size begin, Size end) {
    OfSize(bytes, [&](auto size) {
      for (Size part = begin; part < end; ++part) {
        Size row = part / count;
        for (Size axis = 0; axis < depth; ++axis) {
          const Size each = lengths[static_cast<std::size_t>(axis)];
          row = row * each + At(indices[part * depth + axis], each);
        }
        std::memcpy(y + part * size, x + row * size, static_cast<std::size_t>(Size{size}));
      }
    });
  });
}

#define HEADRACE_GATHER(I)                                                                  \
  template void Gather(const char*, const I*, char*, Size, Size, Size, Size);               \
  template void GatherElements(const char*, const I*, char*, Size, Size, Size, Size, Size); \
  template void GatherElements(const char*, const I*, char*, const ElementPlaces&, Size);   \
  template void GatherNd(const char*, const I*, char*, Size, Size, const std::vector<Size>&, Size);
HEADRACE_GATHER(std::int32_t)
HEADRACE_GATHER(std::int64_t)
#undef HEADRACE_GATHER

}  // namespace headrace::cpu
