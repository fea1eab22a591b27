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

template <std::size_t kOperands>
Broadcast<kOperands>::Broadcast(const std::array<std::vector<Size>, kOperands>& shapes,
                                const std::vector<Size>& y) {
  std::array<std::vector<Size>, kOperands> strides;
  for (std::size_t k = 0; k < kOperands; ++k) strides[k] = BroadcastStrides(shapes[k], y.size());
  std::vector<Axis> axes;  // innermost first
  for (std::size_t i = y.size(); i-- > 0;) {
    if (y[i] == 1) continue;
    Axis axis{y[i], {}};
    bool goes_on = !axes.empty();
    for (std::size_t k = 0; k < kOperands; ++k) {
      axis.strides[k] = strides[k][i];
      goes_on = goes_on && strides[k][i] == axes.back().strides[k] * axes.back().length;
    }
    if (goes_on) {
      axes.back().length *= axis.length;
    } else {
      axes.push_back(axis);
    }
  }
  if (axes.empty()) return;
  count_ = axes[0].length;
  steps_ = axes[0].strides;
  outer_.assign(axes.rbegin(), axes.rend() - 1);
  for (const Axis& axis : outer_) rows_ *= axis.length;
}

template class Broadcast<2>;
template class Broadcast<3>;

}  // namespace headrace::cpu
