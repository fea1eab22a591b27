#include "max_pool.h"

#include <limits>
#include <type_traits>

#include "fold_windows.h"

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

// Not a fold: the place of the winner must travel with it, and index outputs are rare.
template <class T>
void MaxPoolWithIndices(const T* x, T* y, std::int64_t* indices, IndexOrder order, Size begin,
                        Size end, const Window& w) {
  const bool row_major = order == IndexOrder::kRowMajor;
  const Size step_d = row_major ? w.in[1] * w.in[2] : 1;
  const Size step_h = row_major ? w.in[2] : w.in[0];
  const Size step_w = row_major ? 1 : w.in[0] * w.in[1];
  std::vector<Range> widths;
  for (Size ow = 0; ow < w.out[2]; ++ow) widths.push_back(TapsInside(w, 2, ow));
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
          const Range width = widths[static_cast<std::size_t>(ow)];
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

template <class T>
void MaxPoolBody(const T* x, T* y, std::int64_t* indices, IndexOrder order, Size planes,
                 const Window& w) {
  if (indices != nullptr) {
    return ParallelFor(planes, PlanesAtOnce(w), [&](Size begin, Size end) {
      MaxPoolWithIndices(x, y, indices, order, begin, end, w);
    });
  }
  const Maxima<T>& fold = RowFolds();
  FoldWindows(x, y, planes, w, Lowest<T>(), fold.largest, [](T*, Size, Size) {});
}

}  // namespace

#define HEADRACE_DEFINE_MAX_POOL(T)                                                    \
  void MaxPool(const T* x, T* y, std::int64_t* indices, IndexOrder order, Size planes, \
               const Window& w) {                                                      \
    MaxPoolBody(x, y, indices, order, planes, w);                                      \
  }
HEADRACE_DEFINE_MAX_POOL(float)
HEADRACE_DEFINE_MAX_POOL(double)
HEADRACE_DEFINE_MAX_POOL(std::int8_t)
HEADRACE_DEFINE_MAX_POOL(std::uint8_t)
HEADRACE_DEFINE_MAX_POOL(std::int32_t)
HEADRACE_DEFINE_MAX_POOL(std::int64_t)
#undef HEADRACE_DEFINE_MAX_POOL

}  // namespace headrace::cpu
