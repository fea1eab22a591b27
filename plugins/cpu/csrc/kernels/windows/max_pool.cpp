#include "kernels/windows/max_pool.h"

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
  const bool row_major = order == IndexOrder::kRowMajor;
  const Size step_d = row_major ? w.in[1] * w.in[2] : 1;
  const Size step_h = row_major ? w.in[2] : w.in[0];
  const Size step_w = row_major ? 1 : w.in[0] * w.in[1];
  x += begin * w.InCount();
  const Size first = begin * w.out[0] * w.out[1] * w.out[2];
  y += first;
  indices += first;
  for (Size plane = begin; plane < end; ++plane, x += w.InCount()) {
    for (Size od = 0; od < w.out[0]; ++od) {
      const Range depth = TapsInside(w, 0, od);
      for (Size oh = 0; oh < w.out[1]; ++oh) {
        const Range height = TapsInside(w, 1, oh);
        for (Size ow = 0; ow < w.out[2]; ++ow) {
          const Range width = widths_[static_cast<std::size_t>(ow)];
          T best = Lowest<T>();
          std::int64_t index = -1;
          for (Size kd = depth.begin; kd < depth.end; ++kd) {
            const Size d = InputPosition(w, 0, od, kd);
            for (Size kh = height.begin; kh < height.end; ++kh) {
              const Size h = InputPosition(w, 1, oh, kh);
              const T* row = x + (d * w.in[1] + h) * w.in[2];
              for (Size kw = width.begin; kw < width.end; ++kw) {
                const Size column = InputPosition(w, 2, ow, kw);
                if (index < 0 || Beats(row[column], best)) {
                  best = row[column];
                  index = plane * w.InCount() + d * step_d + h * step_h + column * step_w;
                }
              }
            }
          }
          *y++ = best;
          *indices++ = index;
        }
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
