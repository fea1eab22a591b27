#include "avg_pool.h"

#include "fold_windows.h"

namespace headrace::cpu {
namespace {

// For each output position on an axis, how many taps count. The divisor of a window is the product
// over the axes.
std::vector<Size> CountTaps(const Window& w, int axis, const AvgDivisor& divisor) {
  const Size low = divisor.count_include_pad ? -w.pad[axis] : 0;
  const Size high = w.in[axis] + (divisor.count_include_pad ? divisor.pad_end[axis] : 0);
  std::vector<Size> counts;
  for (Size o = 0; o < w.out[axis]; ++o) {
    const Size start = InputPosition(w, axis, o, 0);
    counts.push_back(StepsWithin(start, w.dilation[axis], low, high, w.kernel[axis]).Count());
  }
  return counts;
}

template <class T>
void AvgPoolBody(const T* x, T* y, Size planes, const Window& w, const AvgDivisor& divisor) {
  const std::vector<Size> depth = CountTaps(w, 0, divisor);
  const std::vector<Size> height = CountTaps(w, 1, divisor);
  std::vector<T> width;
  for (const Size count : CountTaps(w, 2, divisor)) width.push_back(static_cast<T>(count));
  const T* widths = width.data();
  const Size out_width = w.out[2];

  const Totals<T>& fold = RowFolds();
  FoldWindows(x, y, planes, w, T(0), fold.total, [&](T* row, Size od, Size oh) {
    const T rows =
        static_cast<T>(depth[static_cast<std::size_t>(od)] * height[static_cast<std::size_t>(oh)]);
    HEADRACE_NO_ALIAS_LOOP
    for (Size i = 0; i < out_width; ++i) {
      // The sum is 0 where the divisor is: dividing by 1 keeps 0 from becoming NaN.
      row[i] /= std::max(rows * widths[i], T(1));
    }
  });
}

}  // namespace

void AvgPool(const float* x, float* y, Size planes, const Window& w, const AvgDivisor& divisor) {
  AvgPoolBody(x, y, planes, w, divisor);
}
void AvgPool(const double* x, double* y, Size planes, const Window& w, const AvgDivisor& divisor) {
  AvgPoolBody(x, y, planes, w, divisor);
}

}  // namespace headrace::cpu
