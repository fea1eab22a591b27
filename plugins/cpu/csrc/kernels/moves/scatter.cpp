#include "kernels/moves/scatter.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

constexpr Size kPartBytes = 1 << 18;  // of a copy that are worth a part of their own

template <class T>
HEADRACE_INLINE T Sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Wrapping = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
  } else {
    return a + b;
  }
}

// Where a row begins; an index that is outside makes it negative.
template <class I>
HEADRACE_INLINE Size RowOf(const I* index, const std::vector<Size>& lengths) {
  Size row = 0;
  bool is_inside = true;
  for (const Size length : lengths) {
    Size at = static_cast<Size>(*index++);
    at += at < 0 ? length : 0;
    is_inside &= at >= 0 && at < length;
    row = row * length + (is_inside ? at : 0);
  }
  return is_inside ? row : -1;
}

template <class I>
[[noreturn]] void Fail(const I* index, const std::vector<Size>& lengths) {
  for (const Size length : lengths) {
    const Size at = static_cast<Size>(*index++);
    if (at < -length || at >= length) {
      throw std::out_of_range("index " + std::to_string(at) + " is outside an axis of " +
                              std::to_string(length) + " elements");
    }
  }
  throw std::logic_error("all indices are inside");
}

// As ScatterNd; row_of(k) is where row k is put, negative where an index is outside.
template <class T, class I, class RowAt>
void Put(Scatter scatter, const T* x, const I* indices, const T* update, T* y,
         const std::vector<Size>& lengths, Size count, Size inner, const RowAt& row_of) {
  const Size depth = static_cast<Size>(lengths.size());
  bool is_inside = true;
  for (Size k = 0; k < count; ++k) is_inside &= row_of(k) >= 0;
  for (Size k = 0; !is_inside && k < count; ++k) {
    if (row_of(k) < 0) Fail(indices + k * depth, lengths);
  }
  const Size item = static_cast<Size>(sizeof(T));
  if (x != y) {
    Size elements = inner;
    for (const Size length : lengths) elements *= length;
    ParallelFor(elements, kPartBytes / item, [&](Size begin, Size end) {
      std::memcpy(y + begin, x + begin, static_cast<std::size_t>((end - begin) * item));
    });
  }
  // By one thread: of rows that are put on one place, the last one counts, and sums have an order.
  for (Size k = 0; k < count; ++k) {
    T* to = y + row_of(k) * inner;
    const T* from = update + k * inner;
    if (scatter == Scatter::kReplace) {
      if (inner == 1) {
        *to = *from;
      } else {
        std::memcpy(to, from, static_cast<std::size_t>(inner * item));
      }
    } else {
      for (Size i = 0; i < inner; ++i) to[i] = Sum(to[i], from[i]);
    }
  }
}

}  // namespace

template <class T, class I>
void ScatterNd(Scatter scatter, const T* x, const I* indices, const T* update, T* y,
               const std::vector<Size>& lengths, Size count, Size inner) {
  if (lengths.size() == 1) {  // by itself: the loop over axes takes longer than the move
    const Size length = lengths[0];
    const auto row_of = [=](Size k) HEADRACE_INLINE_LAMBDA {
      const Size at = static_cast<Size>(indices[k]);
      return at >= -length && at < length ? at + (at < 0 ? length : 0) : -1;
    };
    return Put(scatter, x, indices, update, y, lengths, count, inner, row_of);
  }
  const Size depth = static_cast<Size>(lengths.size());
  Put(scatter, x, indices, update, y, lengths, count, inner,
      [&](Size k) { return RowOf(indices + k * depth, lengths); });
}

#define HEADRACE_SCATTER(T, I)                                                                 \
  template void ScatterNd(Scatter, const T*, const I*, const T*, T*, const std::vector<Size>&, \
                          Size, Size);
#define HEADRACE_SCATTERS(T)        \
  HEADRACE_SCATTER(T, std::int32_t) \
  HEADRACE_SCATTER(T, std::int64_t)
HEADRACE_SCATTERS(std::uint8_t)
HEADRACE_SCATTERS(std::uint16_t)
HEADRACE_SCATTERS(std::int32_t)
HEADRACE_SCATTERS(std::int64_t)
HEADRACE_SCATTERS(float)
HEADRACE_SCATTERS(double)
#undef HEADRACE_SCATTERS
#undef HEADRACE_SCATTER

}  // namespace headrace::cpu
