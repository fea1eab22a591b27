// Where elements are that are named one by one: each index says where along one axis, and its own
// place says where along the others.
#pragma once

#include <vector>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// Indices lie in rows along their last axis. Element i of a row, with an index `at`, is that of x
// at
//   Row(row) + i * step() + at * along()
class ElementPlaces {
 public:
  // Shapes of as many axes, one or more; those of the indices are no longer than those of x, but
  // for `axis`.
  ElementPlaces(const std::vector<Size>& x, const std::vector<Size>& indices, std::size_t axis)
      : length_(x[axis]), inner_(indices.back()) {
    Size stride = 1;
    for (std::size_t i = x.size(); i-- > 0; stride *= x[i]) {
      if (i == axis) along_ = stride;
      const Size step = i == axis ? 0 : stride;
      if (i + 1 == x.size()) {
        step_ = step;
      } else {
        outer_.push_back({indices[i], step});
        rows_ *= indices[i];
      }
    }
  }

  Size length() const { return length_; }  // of x, along the axis
  Size along() const { return along_; }    // elements from one to the next there
  Size rows() const { return rows_; }
  Size inner() const { return inner_; }
  Size step() const { return step_; }

  Size Row(Size row) const {
    Size place = 0;
    for (const Axis& axis : outer_) {
      place += row % axis.count * axis.step;
      row /= axis.count;
    }
    return place;
  }

 private:
  struct Axis {
    Size count, step;
  };

  Size length_, inner_;
  Size along_ = 1, step_ = 1, rows_ = 1;
  std::vector<Axis> outer_;  // from the inner ones on
};

}  // namespace headrace::cpu
