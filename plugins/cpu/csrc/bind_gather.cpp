// Elements by indices; they are bytes here, of any dtype.
#include <cstdint>

#include "bind_places.h"
#include "kernels/moves/gather.h"

namespace headrace::cpu::bind {
namespace {

// Bytes of the elements that are moved from `x` to `y`.
Size MovedSize(const char* op, const AnyArray& x, const AnyArray& y) {
  RequireContiguous(op, "x", x);
  RequireContiguous(op, "y", y);
  return ItemSize(op, x, y);
}

char* Written(const char* op, AnyArray& y) {
  if (!y.writeable()) throw py::value_error(std::string(op) + ": y is read-only");
  return static_cast<char*>(y.mutable_data());
}

template <class I>
Launch BindGather(const AnyArray& x, const Array<I>& indices, AnyArray& y) {
  constexpr const char* kOp = "gather";
  const Size item = MovedSize(kOp, x, y);
  if (x.ndim() != 3 || indices.ndim() != 1) {
    throw py::value_error("gather: x and indices must have 3 and 1 axes");
  }
  const Size outer = x.shape(0), length = x.shape(1), bytes = x.shape(2) * item;
  const Size count = indices.size();
  RequireShape(kOp, "y", y, {outer, count, x.shape(2)});
  if (y.size() == 0) return {};
  const char* from = static_cast<const char*>(x.data());
  char* to = Written(kOp, y);
  const I* at = ReadPointer(kOp, "indices", indices);
  return {[=] { Gather(from, at, to, outer, length, count, bytes); },
          py::make_tuple(x, indices, y)};
}

template <class I>
Launch BindGatherElements(const AnyArray& x, const Array<I>& indices, AnyArray& y, Size axis) {
  constexpr const char* kOp = "gather_elements";
  const Size item = MovedSize(kOp, x, y);
  const ElementPlaces places = PlacesOf(kOp, x, indices, axis);
  const Dims made = Shape(indices);
  RequireShape(kOp, "y", y, made);
  if (y.size() == 0) return {};
  const char* from = static_cast<const char*>(x.data());
  char* to = Written(kOp, y);
  const I* at = ReadPointer(kOp, "indices", indices);
  const auto along = static_cast<std::size_t>(axis);
  const Size length = x.shape(axis), count = made[along];
  Dims even = Shape(x);
  even[along] = count;
  if (made != even) {
    return {[=] { GatherElements(from, at, to, places, item); }, py::make_tuple(x, indices, y)};
  }
  const Size inner = Product(Tail(made, along + 1)), outer = y.size() / (count * inner);
  return {[=] { GatherElements(from, at, to, outer, length, count, inner, item); },
          py::make_tuple(x, indices, y)};
}

template <class I>
Launch BindGatherNd(const AnyArray& x, const Array<I>& indices, AnyArray& y) {
  constexpr const char* kOp = "gather_nd";
  const Size item = MovedSize(kOp, x, y);
  const Dims shape = Shape(x);
  if (indices.ndim() != 3 || x.ndim() != indices.shape(2) + 2) {
    throw py::value_error("gather_nd: x is " + Text(shape) + " but indices are " +
                          Text(Shape(indices)) + "; x must have two axes more than these name");
  }
  const Size outer = shape.front(), count = indices.shape(1), bytes = shape.back() * item;
  RequireShape(kOp, "indices", indices, {outer, count, indices.shape(2)});
  RequireShape(kOp, "y", y, {outer, count, shape.back()});
  if (y.size() == 0) return {};
  const std::vector<Size> lengths(shape.begin() + 1, shape.end() - 1);
  const char* from = static_cast<const char*>(x.data());
  char* to = Written(kOp, y);
  const I* at = ReadPointer(kOp, "indices", indices);
  return {[=] { GatherNd(from, at, to, outer, count, lengths, bytes); },
          py::make_tuple(x, indices, y)};
}

template <class I>
void Define(py::module_& m) {
  m.def("gather", &BindGather<I>, py::arg("x"), py::arg("indices"), py::arg("y"));
  m.def("gather_elements", &BindGatherElements<I>, py::arg("x"), py::arg("indices"), py::arg("y"),
        py::arg("axis"));
  m.def("gather_nd", &BindGatherNd<I>, py::arg("x"), py::arg("indices"), py::arg("y"));
}

}  // namespace

void RegisterGather(py::module_& m) {
  Define<std::int32_t>(m);
  Define<std::int64_t>(m);
}

}  // namespace headrace::cpu::bind
