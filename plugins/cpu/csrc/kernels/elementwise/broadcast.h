// How tensors of unequal shapes are walked together.
#pragma once

#include <array>
#include <vector>

#include "kernels/machine/isa.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {

// No array of numpy has more.
constexpr std::size_t kMostAxes = 64;

// Of each of `rank` axes of the output, the stride of a contiguous tensor of this shape: 0 where it
// repeats.
std::vector<Size> BroadcastStrides(const std::vector<Size>& shape, std::size_t rank);

// An inner loop over elements of so many operands, and the axes around it. Axes over which all of
// them go on evenly are one.
template <std::size_t kOperands>
class Broadcast {
 public:
  using Places = std::array<Size, kOperands>;  // one of each operand, in elements

  // Contiguous tensors of these shapes, whose common shape `y` has at least one element and at most
  // kMostAxes axes.
  Broadcast(const std::array<std::vector<Size>, kOperands>& shapes, const std::vector<Size>& y);

  // Of the inner loop: 0 or 1.
  const Places& steps() const { return steps_; }

  // Calls inner(places, y place, count) for runs of the inner loop that cover the output, with all
  // threads, each of which has `worth` elements if there are as many.
  template <class Inner>
  void ForEach(Size worth, const Inner& inner) const {
    if (outer_.empty()) {
      ParallelFor(count_, worth, [&](Size begin, Size end) {
        Places at{};
        Move(steps_, begin, &at);
        inner(at, begin, end - begin);
      });
    } else {
      const Size grain = GrainOf(worth, count_);
      ParallelFor(rows_, grain, [&](Size begin, Size end) { Rows(begin, end, inner); });
    }
  }

 private:
  struct Axis {
    Size length;
    Places strides;
  };

  static void Move(const Places& strides, Size times, Places* at) {
    for (std::size_t k = 0; k < kOperands; ++k) (*at)[k] += times * strides[k];
  }

  // Whole inner loops, in the order of the output.
  template <class Inner>
  void Rows(Size begin, Size end, const Inner& inner) const {
    std::array<Size, kMostAxes> position;
    Places at{};
    Size rest = begin;
    for (std::size_t i = outer_.size(); i-- > 0; rest /= outer_[i].length) {
      position[i] = rest % outer_[i].length;
      Move(outer_[i].strides, position[i], &at);
    }
    for (Size row = begin;;) {
      inner(at, row * count_, count_);
      if (++row == end) return;
      for (std::size_t i = outer_.size(); i-- > 0;) {
        Move(outer_[i].strides, 1, &at);
        if (++position[i] < outer_[i].length) break;
        Move(outer_[i].strides, -outer_[i].length, &at);
        position[i] = 0;
      }
    }
  }

  Size count_ = 1;  // steps of the inner loop
  Size rows_ = 1;   // how often it is run
  Places steps_{};
  std::vector<Axis> outer_;  // outermost first
};

}  // namespace headrace::cpu
