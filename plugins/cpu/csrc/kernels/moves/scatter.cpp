#include "kernels/moves/scatter.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "kernels/machine/combine.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

constexpr Size kPartBytes = 1 << 18;  // of a copy that are worth a part of their own

struct Replace {
  template <class T>
  HEADRACE_INLINE T operator()(T, T b) const {
    return b;
  }
};

// Calls `put` with what makes one element of two; of what is only moved there is one kind.
template <class T, class F>
void OfKind(Scatter scatter, const F& put) {
  if constexpr (sizeof(T) >= 4) {
    switch (scatter) {
      case Scatter::kAdd:
        return put(Add{});
      case Scatter::kMultiply:
        return put(Multiply{});
      case Scatter::kMaximum:
        return put(Maximum{});
      case Scatter::kMinimum:
        return put(Minimum{});
      case Scatter::kReplace:
        break;
    }
  }
  put(Replace{});
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
HEADRACE_INLINE Size RowOf(const I* index, const std::vector<IndexedAxis>& axes) {
  Size row = 0;
  bool is_inside = true;
  for (const IndexedAxis axis : axes) {
    const Size at = static_cast<Size>(*index++);
    is_inside &= axis.Has(at);
    row = row * axis.length + (is_inside ? axis.Position(at) : 0);
  }
  return is_inside ? row : -1;
}

template <class I>
[[noreturn]] void Fail(const I* index, const std::vector<IndexedAxis>& axes) {
  for (const IndexedAxis axis : axes) axis.At(static_cast<Size>(*index++));
  throw std::logic_error("all indices are inside");
}

// As ScatterNd; row_of(k) is where row k is put, negative where an index is outside.
template <class T, class I, class RowAt>
void Put(Scatter scatter, const T* x, const I* indices, const T* update, T* y,
         const std::vector<IndexedAxis>& axes, Size count, Size inner, const RowAt& row_of) {
  const Size depth = static_cast<Size>(axes.size());
  bool is_inside = true;
  for (Size k = 0; k < count; ++k) is_inside &= row_of(k) >= 0;
  for (Size k = 0; !is_inside && k < count; ++k) {
    if (row_of(k) < 0) Fail(indices + k * depth, axes);
  }
  Size elements = inner;
  for (const IndexedAxis axis : axes) elements *= axis.length;
  CopyAll(x, y, elements);
  // By one thread: of rows that are put on one place, the last one counts, and sums have an order.
  OfKind<T>(scatter, [&](auto combined) {
    for (Size k = 0; k < count; ++k) {
      T* to = y + row_of(k) * inner;
      const T* from = update + k * inner;
      if (std::is_same_v<decltype(combined), Replace> && inner != 1) {
        std::memcpy(to, from, static_cast<std::size_t>(inner) * sizeof(T));
      } else {
        for (Size i = 0; i < inner; ++i) to[i] = combined(to[i], from[i]);
      }
    }
  });
}

}  // namespace

template <class T, class I>
void ScatterNd(Scatter scatter, const T* x, const I* indices, const T* update, T* y,
               const std::vector<IndexedAxis>& axes, Size count, Size inner) {
  if (axes.size() == 1) {  // by itself: the loop over axes takes longer than the move
    const IndexedAxis axis = axes[0];
    const auto row_of = [=](Size k) HEADRACE_INLINE_LAMBDA {
      const Size at = static_cast<Size>(indices[k]);
      return axis.Has(at) ? axis.Position(at) : -1;
    };
    return Put(scatter, x, indices, update, y, axes, count, inner, row_of);
  }
  const Size depth = static_cast<Size>(axes.size());
  Put(scatter, x, indices, update, y, axes, count, inner,
      [&](Size k) { return RowOf(indices + k * depth, axes); });
}

template <class T, class I>
void ScatterElements(Scatter scatter, const T* x, const I* indices, const T* update, T* y,
                     const ElementPlaces& places, Size elements) {
  const Size inner = places.inner(), count = places.rows() * inner;
  const IndexedAxis axis = places.axis();
  for (Size k = 0; k < count; ++k) axis.At(static_cast<Size>(indices[k]));
  CopyAll(x, y, elements);
  // By one thread, as rows are.
  OfKind<T>(scatter, [&](auto combined) {
    for (Size row = 0; row < places.rows(); ++row) {
      T* to = y + places.Row(row);
      for (Size i = 0; i < inner; ++i, ++indices, ++update) {
        const Size at = axis.Position(static_cast<Size>(*indices));
        T& element = to[i * places.step() + at * places.along()];
        element = combined(element, *update);
      }
    }
  });
}

template <class T, class I>
void OneHot(const I* indices, const T* values, T* y, Size outer, Size depth, Size inner) {
  const IndexedAxis axis{depth, 1};
  const Size bytes = depth * inner * static_cast<Size>(sizeof(T));
  ParallelFor(outer, GrainOf(kPartBytes, bytes), [=](Size begin, Size end) {
    std::fill(y + begin * depth * inner, y + end * depth * inner, values[0]);
    for (Size o = begin; o < end; ++o) {
      for (Size i = 0; i < inner; ++i) {
        const Size at = static_cast<Size>(indices[o * inner + i]);
        if (axis.Has(at)) y[(o * depth + axis.Position(at)) * inner + i] = values[1];
      }
    }
  });
}

#define HEADRACE_SCATTER(T, I)                                                                   \
  template void ScatterNd(Scatter, const T*, const I*, const T*, T*,                             \
                          const std::vector<IndexedAxis>&, Size, Size);                          \
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
