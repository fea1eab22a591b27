#include "kernels/windows/avg_pool.h"

#include <algorithm>

namespace headrace::cpu {
namespace {

// For each output position on an axis, how many taps count.
template <class T>
std::vector<T> CountTaps(const Window& w, int axis, const AvgDivisor& divisor) {
  const Size low = divisor.count_include_pad ? -w.pad[axis] : 0;
  const Size high = w.in[axis] + (divisor.count_include_pad ? divisor.pad_end[axis] : 0);
  std::vector<T> counts;
  for (Size o = 0; o < w.out[axis]; ++o) {
    const Size start = InputPosition(w, axis, o, 0);
    const Size count = StepsWithin(start, w.dilation[axis], low, high, w.kernel[axis]).Count();
    counts.push_back(static_cast<T>(count));
  }
  return counts;
}

template <class T>
Range LongestRun(const std::vector<T>& numbers) {
  Range longest{0, 0};
  const auto count = static_cast<Size>(numbers.size());
  for (Size begin = 0, end = 0; begin < count; begin = end) {
    const T number = numbers[static_cast<std::size_t>(begin)];
    while (end < count && numbers[static_cast<std::size_t>(end)] == number) ++end;
    if (end - begin > longest.Count()) longest = {begin, end};
  }
  return longest;
}

}  // namespace

template <class T>
AvgPool<T>::AvgPool(const Window& w, const AvgDivisor& divisor)
    : w_(w),
      row_(w),
      depth_(CountTaps<T>(w, 0, divisor)),
      height_(CountTaps<T>(w, 1, divisor)),
      width_(CountTaps<T>(w, 2, divisor)),
      even_(LongestRun(width_)) {}

template <class T>
void AvgPool<T>::Run(const T* x, T* y, Size planes) const {
  const T* widths = width_.data();
  const Size out_width = w_.out[2];
  const Totals<T>& fold = RowFolds();
  FoldWindows(x, y, planes, w_, row_, T(0), fold.total, [&](T* row, Size od, Size oh) {
    const T rows = depth_[static_cast<std::size_t>(od)] * height_[static_cast<std::size_t>(oh)];
    // The sum is 0 where the divisor is: dividing by 1 keeps 0 from becoming NaN.
    const auto divisor = [&](Size i) { return std::max(rows * widths[i], T(1)); };
    for (Size i = 0; i < even_.begin; ++i) row[i] /= divisor(i);
    fold.divide(row + even_.begin, divisor(even_.begin), even_.Count());
    for (Size i = even_.end; i < out_width; ++i) row[i] /= divisor(i);
  });
}

template class AvgPool<float>;
template class AvgPool<double>;

}  // namespace headrace::cpu
