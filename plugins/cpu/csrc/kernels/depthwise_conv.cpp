#include "depthwise_conv.h"

#include <vector>

#include "tap_planes.h"

namespace headrace::cpu {
namespace {

// Taps summed in one pass over the accumulator: as many pointers and weights as stay in registers,
// and all of a 3x3 kernel.
constexpr int kMaxTaps = 9;

// Elements of the accumulator worked on at a time, so that it stays in the first cache level.
constexpr Size kStripElements = 1024;

// sum[i] = (first ? bias : sum[i]) + taps' weight * from[offset + i], summed over kTaps taps.
template <int kTaps, class T>
HEADRACE_INLINE void AddTaps(const T* from, const Size* offsets, const T* weights, bool first,
                             T bias, T* __restrict sum, Size count) {
  const T* tap[kTaps];
  T weight[kTaps];
  for (int t = 0; t < kTaps; ++t) {
    tap[t] = from + offsets[t];
    weight[t] = weights[t];
  }
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < count; ++i) {
    T total = first ? bias : sum[i];
    for (int t = 0; t < kTaps; ++t) total += weight[t] * tap[t][i];
    sum[i] = total;
  }
}

// Turns a run-time number of taps, 1 to kTaps, into a constant one.
template <int kTaps, class T>
HEADRACE_INLINE void AddTapGroup(Size taps, const T* from, const Size* offsets, const T* weights,
                                 bool first, T bias, T* sum, Size count) {
  if constexpr (kTaps > 0) {
    if (taps == kTaps) {
      AddTaps<kTaps>(from, offsets, weights, first, bias, sum, count);
    } else {
      AddTapGroup<kTaps - 1>(taps, from, offsets, weights, first, bias, sum, count);
    }
  }
}

template <class T>
HEADRACE_INLINE void ConvolvePlane(const TapPlanes<T>& planes, const T* weights, T bias, T* y,
                                   const Window& w, std::vector<T>& sum) {
  const Size pitch = planes.RowPitch();
  const Size strip = std::max<Size>(1, kStripElements / pitch);
  const Size taps = w.KernelCount();
  const std::vector<Size>& offsets = planes.TapOffsets();
  for (Size od = 0; od < w.out[0]; ++od) {
    for (Size oh = 0; oh < w.out[1]; oh += strip) {
      const Size rows = std::min(strip, w.out[1] - oh);
      const T* from = planes.Data() + od * planes.DepthPitch() + oh * pitch;
      // Rows are joined through the padding between them: long loops even for narrow images. What
      // is summed up in between is left behind below.
      const Size count = (rows - 1) * pitch + w.out[2];
      for (Size t = 0; t < taps; t += kMaxTaps) {
        AddTapGroup<kMaxTaps>(std::min<Size>(kMaxTaps, taps - t), from, &offsets[t], weights + t,
                              t == 0, bias, sum.data(), count);
      }
      for (Size r = 0; r < rows; ++r, y += w.out[2]) {
        const T* row = sum.data() + r * pitch;
        for (Size i = 0; i < w.out[2]; ++i) y[i] = row[i];
      }
    }
  }
}

template <class T>
HEADRACE_INLINE void DepthwiseBody(const T* x, const T* weight, const T* bias, T* y,
                                   const DepthwiseShape& shape, const Window& w) {
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

HEADRACE_MULTIVERSION void DepthwiseConv(const float* x, const float* weight, const float* bias,
                                         float* y, const DepthwiseShape& shape, const Window& w) {
  DepthwiseBody(x, weight, bias, y, shape, w);
}
HEADRACE_MULTIVERSION void DepthwiseConv(const double* x, const double* weight, const double* bias,
                                         double* y, const DepthwiseShape& shape, const Window& w) {
  DepthwiseBody(x, weight, bias, y, shape, w);
}

}  // namespace headrace::cpu
