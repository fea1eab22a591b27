// Where elements are that are named one by one: each index says where along one axis, and its own
// place says where along the others.
#pragma once

#include <vector>

#include "kernels/moves/indexed_axis.h"

namespace headrace::cpu {

// Indices lie in rows along their last axis. Element i of a row, with an index `at`, is that of x
// at
//   Row(row) + i * step() + at * along()
class ElementPlaces {
 public:
  // Shapes of as many axes, one or more; those of the indices are no longer than those of x, but
  // for `axis`.
  ElementPlaces(const std::vector<Size>& x, const std::vector<Size>& indices, std::size_t axis)
      : axis_{x[axis], static_cast<Size>(axis)}, inner_(indices.back()) {
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

  IndexedAxis axis() const { return axis_; }
  Size along() const { return along_; }  // elements from one to the next there
  Size rows() const { return rows_; }
  Size inner() const { return inner_; }
  Size step() const { return step_; }

  Size Row(Size row) const {
    Size place = 0;
    for (const OtherAxis& axis : outer_) {
      place += row % axis.count * axis.step;
      row /= axis.count;
    }
    return place;
  }

 private:
  struct OtherAxis {
    Size count, step;
  };

  IndexedAxis axis_;
  Size inner_;
  Size along_ = 1, step_ = 1, rows_ = 1;
  std::vector<OtherAxis> outer_;  // from the inner ones on
};

}  // namespace headrace::cpu
