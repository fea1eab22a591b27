#include "depthwise_conv.h"

#include <vector>

#include "tap_planes.h"
#include "tap_sums.h"

namespace headrace::cpu {
namespace {

// Elements of the accumulator worked on at a time, so that it stays in the first cache level.
constexpr Size kStripElements = 1024;

template <class T>
void ConvolvePlane(const TapPlanes<T>& planes, const T* weights, T bias, T* y, const Window& w,
                   std::vector<T>& sum) {
  const Size pitch = planes.RowPitch();
  const Size strip = std::max<Size>(1, kStripElements / pitch);
  const Size taps = w.KernelCount();
  const std::vector<Size>& offsets = planes.TapOffsets();
  const TapSums<T>& sums = TapSumLoops();
  for (Size od = 0; od < w.out[0]; ++od) {
    for (Size oh = 0; oh < w.out[1]; oh += strip) {
      const Size rows = std::min(strip, w.out[1] - oh);
      const T* from = planes.Data() + od * planes.DepthPitch() + oh * pitch;
      // Rows are joined through the padding between them: long loops even for narrow images. What
      // is summed up in between is left behind below.
      const Size count = (rows - 1) * pitch + w.out[2];
      for (Size t = 0; t < taps; t += kMostTaps) {
        sums.add(from, &offsets[t], weights + t, std::min<Size>(kMostTaps, taps - t), t == 0, bias,
                 sum.data(), count);
      }
      for (Size r = 0; r < rows; ++r, y += w.out[2]) {
        const T* row = sum.data() + r * pitch;
        for (Size i = 0; i < w.out[2]; ++i) y[i] = row[i];
      }
    }
  }
}

template <class T>
void DepthwiseBody(const T* x, const T* weight, const T* bias, T* y, const DepthwiseShape& shape,
                   const Window& w) {
  TapPlanes<T> planes(w);
  std::vector<T> sum(static_cast<std::size_t>(std::max(kStripElements, planes.RowPitch())));
  for (Size n = 0; n < shape.batch; ++n) {
    for (Size c = 0; c < shape.channels; ++c, x += w.InCount()) {
      planes.Fill(x);
      for (Size m = 0; m < shape.multiplier; ++m, y += w.OutCount()) {
        const Size out_channel = c * shape.multiplier + m;
        ConvolvePlane(planes, weight + out_channel * w.KernelCount(),
                      bias == nullptr ? T(0) : bias[out_channel], y, w, sum);
      }
    }
  }
}

}  // namespace

void DepthwiseConv(const float* x, const float* weight, const float* bias, float* y,
                   const DepthwiseShape& shape, const Window& w) {
  DepthwiseBody(x, weight, bias, y, shape, w);
}
void DepthwiseConv(const double* x, const double* weight, const double* bias, double* y,
                   const DepthwiseShape& shape, const Window& w) {
  DepthwiseBody(x, weight, bias, y, shape, w);
}

}  // namespace headrace::cpu
