// Where things are that indices name.
#pragma once

#include <string>
#include <vector>

#include "bind_common.h"
#include "kernels/moves/element_places.h"

namespace headrace::cpu::bind {

// Throws ValueError unless the indices have the axes of x, and are no longer but along `axis`.
inline ElementPlaces PlacesOf(const char* op, const AnyArray& x, const AnyArray& indices,
                              Size axis) {
  const Dims from = Shape(x), named = Shape(indices);
  bool fits = axis >= 0 && axis < x.ndim() && indices.ndim() == x.ndim();
  for (std::size_t i = 0; fits && i < from.size(); ++i) {
    fits = static_cast<Size>(i) == axis || named[i] <= from[i];
  }
  if (fits) return {from, named, static_cast<std::size_t>(axis)};
  throw py::value_error(std::string(op) + ": x is " + Text(from) + " but indices are " +
                        Text(named) + "; they may be longer along axis " + std::to_string(axis) +
                        " only");
}

// `count` axes of x from `first` on.
inline std::vector<IndexedAxis> IndexedAxes(const AnyArray& x, Size first, Size count) {
  std::vector<IndexedAxis> axes;
  for (Size axis = first; axis < first + count; ++axis) axes.push_back({x.shape(axis), axis});
  return axes;
}

}  // namespace headrace::cpu::bind
