#include "kernels/windows/max_pool.h"

#include <array>
#include <limits>
#include <type_traits>

namespace headrace::cpu {
namespace {

template <class T>
constexpr T Lowest() {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}

template <class T>
HEADRACE_INLINE bool Beats(T value, T best) {
  return value > best || (value != value && best == best);
}

// How far a flat index is from that of the next element of each axis.
struct IndexSteps {
  Size plane, row, column;
};

IndexSteps StepsOf(const Window& w, IndexOrder order) {
  if (order == IndexOrder::kRowMajor) return {w.in[1] * w.in[2], w.in[2], 1};
  return {1, w.in[0], w.in[0] * w.in[1]};
}

// The largest element of a window and its index within the plane, -1 if it stands on padding alone.
template <class T>
struct Winner {
  T value = Lowest<T>();
  Size index = -1;
};

// Of the window at `at` of a plane, `taps` of which are inside.
template <class T>
HEADRACE_INLINE Winner<T> WinnerOf(const T* plane, const Window& w, const Position& at,
                                   const std::array<Range, 3>& taps, const IndexSteps& steps) {
  Winner<T> best;
  for (Size kd = taps[0].begin; kd < taps[0].end; ++kd) {
    const Size d = InputPosition(w, 0, at.z, kd);
    for (Size kh = taps[1].begin; kh < taps[1].end; ++kh) {
      const Size h = InputPosition(w, 1, at.y, kh);
      const T* row = plane + (d * w.in[1] + h) * w.in[2];
      for (Size kw = taps[2].begin; kw < taps[2].end; ++kw) {
        const Size column = InputPosition(w, 2, at.x, kw);
        if (best.index >= 0 && !Beats(row[column], best.value)) continue;
        best = {row[column], d * steps.plane + h * steps.row + column * steps.column};
      }
    }
  }
  return best;
}

}  // namespace

template <class T>
MaxPool<T>::MaxPool(const Window& w) : w_(w), row_(w) {
  for (Size ow = 0; ow < w.out[2]; ++ow) widths_.push_back(TapsInside(w, 2, ow));
}

template <class T>
void MaxPool<T>::Run(const T* x, T* y, Size planes) const {
  const RowsOf<T>& fold = RowFolds();
  FoldWindows(x, y, planes, w_, row_, Lowest<T>(), fold.largest, [](T*, Size, Size) {});
}

template <class T>
void MaxPool<T>::Run(const T* x, T* y, std::int64_t* indices, IndexOrder order, Size planes) const {
  ParallelFor(planes, PlanesAtOnce(w_),
              [&](Size begin, Size end) { RunPlanes(x, y, indices, order, begin, end); });
}

// Not a fold: the place of the winner must travel with it, and index outputs are rare.
template <class T>
void MaxPool<T>::RunPlanes(const T* x, T* y, std::int64_t* indices, IndexOrder order, Size begin,
                           Size end) const {
  const Window& w = w_;
  const IndexSteps steps = StepsOf(w, order);
  x += begin * w.InCount();
  y += begin * w.OutCount();
  indices += begin * w.OutCount();
  for (Size plane = begin; plane < end; ++plane, x += w.InCount()) {
    Position at{plane, 0, 0, 0};
    for (; at.n == plane; at.NextLine(w)) {
      std::array<Range, 3> taps{TapsInside(w, 0, at.z), TapsInside(w, 1, at.y), Range{0, 0}};
      for (; at.x < w.out[2]; ++at.x) {
        taps[2] = widths_[static_cast<std::size_t>(at.x)];
        const Winner<T> winner = WinnerOf(x, w, at, taps, steps);
        *y++ = winner.value;
        *indices++ = winner.index < 0 ? -1 : plane * w.InCount() + winner.index;
      }
    }
  }
}

template class MaxPool<float>;
template class MaxPool<double>;
template class MaxPool<std::int8_t>;
template class MaxPool<std::uint8_t>;
template class MaxPool<std::int32_t>;
template class MaxPool<std::int64_t>;

}  // namespace headrace::cpu
