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

// Integers wrap around; a NaN stays one.
template <Scatter scatter, class T>
HEADRACE_INLINE T Combined(T a, T b) {
  using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                               std::enable_if<true, T>>::type;
  if constexpr (scatter == Scatter::kReplace) return b;
  if constexpr (scatter == Scatter::kAdd) {
    return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
  }
  if constexpr (scatter == Scatter::kMultiply) {
    return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
  }
  if constexpr (scatter == Scatter::kMaximum) return b > a || b != b ? b : a;
  if constexpr (scatter == Scatter::kMinimum) return b < a || b != b ? b : a;
}

// Calls `put` with the kind as a constant; of what is only moved there is one kind.
template <class T, class F>
void OfKind(Scatter scatter, const F& put) {
  if constexpr (sizeof(T) >= 4) {
    switch (scatter) {
      case Scatter::kAdd:
        return put(std::integral_constant<Scatter, Scatter::kAdd>());
      case Scatter::kMultiply:
        return put(std::integral_constant<Scatter, Scatter::kMultiply>());
      case Scatter::kMaximum:
        return put(std::integral_constant<Scatter, Scatter::kMaximum>());
      case Scatter::kMinimum:
        return put(std::integral_constant<Scatter, Scatter::kMinimum>());
      case Scatter::kReplace:
        break;
    }
  }
  put(std::integral_constant<Scatter, Scatter::kReplace>());
}

template <class T>
void CopyAll(const T* x, T* y, Size elements) {
  if (x == y) return;
  constexpr Size kItem = static_cast<Size>(sizeof(T));
  ParallelFor(elements, kPartBytes / kItem, [=](Size begin, Size end) {
    std::memcpy(y + begin, x + begin, static_cast<std::size_t>((end - begin) * kItem));
  });
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

void Require(Size at, Size length) {
  if (at >= -length && at < length) return;
  throw std::out_of_range("index " + std::to_string(at) + " is outside an axis of " +
                          std::to_string(length) + " elements");
}

template <class I>
[[noreturn]] void Fail(const I* index, const std::vector<Size>& lengths) {
  for (const Size length : lengths) Require(static_cast<Size>(*index++), length);
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
  Size elements = inner;
  for (const Size length : lengths) elements *= length;
  CopyAll(x, y, elements);
  // By one thread: of rows that are put on one place, the last one counts, and sums have an order.
  OfKind<T>(scatter, [&](auto kind) {
    for (Size k = 0; k < count; ++k) {
      T* to = y + row_of(k) * inner;
      const T* from = update + k * inner;
      if (kind == Scatter::kReplace && inner != 1) {
        std::memcpy(to, from, static_cast<std::size_t>(inner) * sizeof(T));
      } else {
        for (Size i = 0; i < inner; ++i) to[i] = Combined<decltype(kind)::value>(to[i], from[i]);
      }
    }
  });
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

template <class T, class I>
void ScatterElements(Scatter scatter, const T* x, const I* indices, const T* update, T* y,
                     const ElementPlaces& places, Size elements) {
  const Size inner = places.inner(), count = places.rows() * inner, length = places.length();
  for (Size k = 0; k < count; ++k) Require(static_cast<Size>(indices[k]), length);
  CopyAll(x, y, elements);
  // By one thread, as rows are.
  OfKind<T>(scatter, [&](auto kind) {
    for (Size row = 0; row < places.rows(); ++row) {
      T* to = y + places.Row(row);
      for (Size i = 0; i < inner; ++i, ++indices, ++update) {
        const Size at = static_cast<Size>(*indices);
        T& element = to[i * places.step() + (at + (at < 0 ? length : 0)) * places.along()];
        element = Combined<decltype(kind)::value>(element, *update);
      }
    }
  });
}

template <class T, class I>
void OneHot(const I* indices, const T* values, T* y, Size outer, Size depth, Size inner) {
  const Size bytes = std::max<Size>(1, depth * inner * static_cast<Size>(sizeof(T)));
  ParallelFor(outer, std::max<Size>(1, kPartBytes / bytes), [=](Size begin, Size end) {
    std::fill(y + begin * depth * inner, y + end * depth * inner, values[0]);
    for (Size o = begin; o < end; ++o) {
      for (Size i = 0; i < inner; ++i) {
        const Size at = static_cast<Size>(indices[o * inner + i]);
        if (at < -depth || at >= depth) continue;
        y[(o * depth + at + (at < 0 ? depth : 0)) * inner + i] = values[1];
      }
    }
  });
}

#define HEADRACE_SCATTER(T, I)                                                                   \
  template void ScatterNd(Scatter, const T*, const I*, const T*, T*, const std::vector<Size>&,   \
                          Size, Size);                                                           \
  template void ScatterElements(Scatter, const T*, const I*, const T*, T*, const ElementPlaces&, \
                                Size);                                                           \
  template void OneHot(const I*, const T*, T*, Size, Size, Size);
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
