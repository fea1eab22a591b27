#include "kernels/convolutions/depthwise_conv.h"

#include <algorithm>
#include <vector>

#include "kernels/convolutions/tap_sums.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Elements of the accumulator worked on at a time, so that it stays in the first cache level.
constexpr Size kStripElements = 1024;

}  // namespace

template <class T>
void DepthwiseConv<T>::ConvolvePlane(const T* plane, const T* weights, T bias, T* y, T* sum) const {
  const Window& w = w_;
  const Size pitch = planes_.RowPitch();
  const Size strip = std::max<Size>(1, kStripElements / pitch);
  const Size taps = w.KernelCount();
  const std::vector<Size>& offsets = planes_.TapOffsets();
  const TapSums<T>& sums = TapSumLoops();
  for (Size od = 0; od < w.out[0]; ++od) {
    for (Size oh = 0; oh < w.out[1]; oh += strip) {
      const Size rows = std::min(strip, w.out[1] - oh);
      const T* from = plane + od * planes_.DepthPitch() + oh * pitch;
      // Rows are joined through the padding between them: long loops even for narrow images. What
      // is summed up in between is left behind below.
      const Size count = (rows - 1) * pitch + w.out[2];
      for (Size t = 0; t < taps; t += kMostTaps) {
        sums.add(from, &offsets[static_cast<std::size_t>(t)], weights + t,
                 std::min<Size>(kMostTaps, taps - t), t == 0, bias, sum, count);
      }
      for (Size r = 0; r < rows; ++r, y += w.out[2]) {
        const T* row = sum + r * pitch;
        for (Size i = 0; i < w.out[2]; ++i) y[i] = row[i];
      }
    }
  }
}

template <class T>
void DepthwiseConv<T>::Run(const T* x, const T* weight, const T* bias, T* y) const {
  const Size plane_count = planes_.Count();
  const Size sum_count = std::max(kStripElements, planes_.RowPitch());
  T* const plane =
      static_cast<T*>(ThreadScratch(static_cast<std::size_t>(plane_count + sum_count) * sizeof(T)));
  std::fill_n(plane, plane_count, T(0));
  for (Size n = 0; n < shape_.batch; ++n) {
    for (Size c = 0; c < shape_.channels; ++c, x += w_.InCount()) {
      planes_.Fill(x, plane);
      for (Size m = 0; m < shape_.multiplier; ++m, y += w_.OutCount()) {
        const Size out_channel = c * shape_.multiplier + m;
        ConvolvePlane(plane, weight + out_channel * w_.KernelCount(),
                      bias == nullptr ? T(0) : bias[out_channel], y, plane + plane_count);
      }
    }
  }
}

template class DepthwiseConv<float>;
template class DepthwiseConv<double>;

}  // namespace headrace::cpu
