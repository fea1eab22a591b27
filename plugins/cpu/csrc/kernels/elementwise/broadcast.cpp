#include "kernels/elementwise/broadcast.h"

namespace headrace::cpu {

std::vector<Size> BroadcastStrides(const std::vector<Size>& shape, std::size_t rank) {
  std::vector<Size> strides(rank, 0);
  Size stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1) strides[rank - shape.size() + i] = stride;
    stride *= shape[i];
  }
  return strides;
}

Broadcast MakeBroadcast(const std::vector<Size>& a, const std::vector<Size>& b,
                        const std::vector<Size>& y) {
  const std::vector<Size> a_strides = BroadcastStrides(a, y.size());
  const std::vector<Size> b_strides = BroadcastStrides(b, y.size());
  std::vector<Broadcast::Axis> axes;  // innermost first
  for (std::size_t i = y.size(); i-- > 0;) {
    if (y[i] == 1) continue;
    const Broadcast::Axis axis{y[i], a_strides[i], b_strides[i]};
    if (!axes.empty() && axis.a_stride == axes.back().a_stride * axes.back().length &&
        axis.b_stride == axes.back().b_stride * axes.back().length) {
      axes.back().length *= axis.length;
    } else {
      axes.push_back(axis);
    }
  }
  Broadcast result;
  if (!axes.empty()) {
    result.count = axes[0].length;
    result.a_step = axes[0].a_stride;
    result.b_step = axes[0].b_stride;
    result.outer.assign(axes.rbegin(), axes.rend() - 1);
  }
  return result;
}

}  // namespace headrace::cpu
