// How two tensors of unequal shapes are walked together.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// No array of numpy has more.
constexpr std::size_t kMostAxes = 64;

// An inner loop, and the axes around it. Axes over which both tensors go on evenly are one.
struct Broadcast {
  struct Axis {
    Size length, a_stride, b_stride;
  };
  Size count = 1;   // steps of the inner loop
  Size a_step = 0;  // of the inner loop: 0 or 1
  Size b_step = 0;
  std::vector<Axis> outer;  // outermost first

  // Calls inner(a offset, b offset, y offset) for every inner loop, in the order of the output.
  template <class Inner>
  void ForEach(const Inner& inner) const {
    std::array<Size, kMostAxes> position;
    std::fill_n(position.begin(), outer.size(), 0);
    for (Size a = 0, b = 0, y = 0;; y += count) {
      inner(a, b, y);
      std::size_t axis = outer.size();
      for (;; --axis) {
        if (axis == 0) return;
        const Axis& moved = outer[axis - 1];
        a += moved.a_stride;
        b += moved.b_stride;
        if (++position[axis - 1] < moved.length) break;
        a -= moved.length * moved.a_stride;
        b -= moved.length * moved.b_stride;
        position[axis - 1] = 0;
      }
    }
  }
};

// Of each of `rank` axes of the output, the stride of a contiguous tensor of this shape: 0 where it
// repeats.
std::vector<Size> BroadcastStrides(const std::vector<Size>& shape, std::size_t rank);

// Contiguous tensors of shapes `a` and `b`, whose common shape `y` has at least one element and at
// most kMostAxes axes.
Broadcast MakeBroadcast(const std::vector<Size>& a, const std::vector<Size>& b,
                        const std::vector<Size>& y);

}  // namespace headrace::cpu
