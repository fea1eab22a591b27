// Batches of products of matrices: which is multiplied by which.
#pragma once

#include <string>

#include "bind_common.h"

namespace headrace::cpu::bind {

// Of each product: which matrix of a batch it reads.
using Places = std::vector<Size>;

inline void RequirePlaces(const char* op, const char* name, const Places& places, Size products,
                          Size matrices) {
  bool fit = static_cast<Size>(places.size()) == products;
  for (const Size place : places) fit = fit && place >= 0 && place < matrices;
  if (fit) return;
  throw py::value_error(std::string(op) + ": " + name + " must be " + std::to_string(products) +
                        " numbers below " + std::to_string(matrices));
}

// y[i] = a[a_places[i]] * b[b_places[i]], where a [matrices, rows, depth] and b [matrices, depth,
// columns], or [matrices, columns, depth] if it is transposed.
struct Batch {
  Size products, rows, depth, columns;
  Places a_places, b_places;

  Batch(const char* op, const AnyArray& a, const AnyArray& b, const AnyArray& y,
        const Places& a_of_each, const Places& b_of_each, bool transposed)
      : a_places(a_of_each), b_places(b_of_each) {
    if (a.ndim() != 3 || b.ndim() != 3 || y.ndim() != 3) {
      throw py::value_error(std::string(op) + ": a, b and y must have three axes");
    }
    products = y.shape(0);
    rows = y.shape(1);
    depth = a.shape(2);
    columns = y.shape(2);
    RequireShape(op, "a", a, {a.shape(0), rows, depth});
    RequireShape(op, "b", b,
                 transposed ? Dims{b.shape(0), columns, depth} : Dims{b.shape(0), depth, columns});
    RequirePlaces(op, "a_places", a_places, products, a.shape(0));
    RequirePlaces(op, "b_places", b_places, products, b.shape(0));
  }

  // Calls f(a, b, y) with the matrices of each product.
  template <class T, class F>
  void Each(const T* a, const T* b, T* y, const F& f) const {
    for (std::size_t i = 0; i < a_places.size(); ++i) {
      f(a + a_places[i] * rows * depth, b + b_places[i] * depth * columns,
        y + static_cast<Size>(i) * rows * columns);
    }
  }
};

}  // namespace headrace::cpu::bind
