#include "kernels/moves/gather.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Bytes that are worth a part of their own.
constexpr Size kPartBytes = 1 << 16;

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
void Gather(const char* x, const I* indices, char* y, Size outer, IndexedAxis axis, Size count,
            Size bytes) {
  const Size grain = GrainOf(kPartBytes, bytes);
  ParallelFor(outer * count, grain, [&](Size begin, Size end) {
    OfSize(bytes, [&](auto size) {
      Size k = begin % count;
      const char* from = x + begin / count * axis.length * size;
      for (Size part = begin; part < end; ++part) {
        std::memcpy(y + part * size, from + axis.At(indices[k]) * size,
                    static_cast<std::size_t>(Size{size}));
        if (++k == count) {
          k = 0;
          from += axis.length * size;
        }
      }
    });
  });
}

template <class I>
void GatherElements(const char* x, const I* indices, char* y, Size outer, IndexedAxis axis,
                    Size count, Size inner, Size item) {
  const Size grain = GrainOf(kPartBytes, inner * item);
  ParallelFor(outer * count, grain, [&](Size begin, Size end) {
    OfSize(item, [=](auto size) {
      for (Size row = begin; row < end;) {
        // The rows of one part of x: where they are read is not worth a division for each.
        const char* from = x + row / count * axis.length * inner * size;
        const Size stop = std::min(end, (row / count + 1) * count);
        if (inner == 1) {
          for (; row < stop; ++row) {
            std::memcpy(y + row * size, from + axis.At(indices[row]) * size,
                        static_cast<std::size_t>(Size{size}));
          }
          continue;
        }
        for (; row < stop; ++row) {
          const I* chosen = indices + row * inner;
          char* to = y + row * inner * size;
          for (Size i = 0; i < inner; ++i) {
            std::memcpy(to + i * size, from + (axis.At(chosen[i]) * inner + i) * size,
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
  const IndexedAxis axis = places.axis();
  const Size grain = GrainOf(kPartBytes, inner * item);
  ParallelFor(places.rows(), grain, [&](Size begin, Size end) {
    OfSize(item, [&](auto size) {
      for (Size row = begin; row < end; ++row) {
        const char* from = x + places.Row(row) * size;
        const I* chosen = indices + row * inner;
        char* to = y + row * inner * size;
        for (Size i = 0; i < inner; ++i) {
          const Size at = axis.At(chosen[i]) * places.along() + i * places.step();
          std::memcpy(to + i * size, from + at * size, static_cast<std::size_t>(Size{size}));
        }
      }
    });
  });
}

template <class I>
void GatherNd(const char* x, const I* indices, char* y, Size outer, Size count,
              const std::vector<IndexedAxis>& axes, Size bytes) {
  const Size grain = GrainOf(kPartBytes, bytes);
  const Size depth = static_cast<Size>(axes.size());
  ParallelFor(outer * count, grain, [&](Size begin, Size end) {
    OfSize(bytes, [&](auto size) {
      for (Size part = begin; part < end; ++part) {
        Size row = part / count;
        const I* index = indices + part * depth;
        for (const IndexedAxis axis : axes) row = row * axis.length + axis.At(*index++);
        std::memcpy(y + part * size, x + row * size, static_cast<std::size_t>(Size{size}));
      }
    });
  });
}

#define HEADRACE_GATHER(I)                                                                         \
  template void Gather(const char*, const I*, char*, Size, IndexedAxis, Size, Size);               \
  template void GatherElements(const char*, const I*, char*, Size, IndexedAxis, Size, Size, Size); \
  template void GatherElements(const char*, const I*, char*, const ElementPlaces&, Size);          \
  template void GatherNd(const char*, const I*, char*, Size, Size,                                 \
                         const std::vector<IndexedAxis>&, Size);
HEADRACE_GATHER(std::int32_t)
HEADRACE_GATHER(std::int64_t)
#undef HEADRACE_GATHER

}  // namespace headrace::cpu
