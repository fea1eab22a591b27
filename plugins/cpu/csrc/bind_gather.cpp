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
  RequireWriteable(op, "y", y);
  return static_cast<char*>(y.mutable_data());
}

template <class I>
Launch BindGather(const AnyArray& x, const Array<I>& indices, AnyArray& y, Size axis) {
  constexpr const char* kOp = "gather";
  const Size item = MovedSize(kOp, x, y);
  const Dims from_shape = Shape(x), chosen = Shape(indices);
  if (axis < 0 || axis >= x.ndim()) throw py::value_error("gather: x has no axis " + Text({axis}));
  const auto along = static_cast<std::size_t>(axis);
  const Dims before(from_shape.begin(), from_shape.begin() + axis);
  const Dims behind = Tail(from_shape, along + 1);
  Dims made = before;
  made.insert(made.end(), chosen.begin(), chosen.end());
  made.insert(made.end(), behind.begin(), behind.end());
  RequireShape(kOp, "y", y, made);
  if (y.size() == 0) return {};
  const IndexedAxis indexed{x.shape(axis), axis};
  const Size outer = Product(before), count = indices.size(), bytes = Product(behind) * item;
  const char* from = static_cast<const char*>(x.data());
  char* to = Written(kOp, y);
  const I* at = ReadPointer(kOp, "indices", indices);
  return {[=] { Gather(from, at, to, outer, indexed, count, bytes); },
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
  const Size count = made[along];
  Dims even = Shape(x);
  even[along] = count;
  if (made != even) {
    return {[=] { GatherElements(from, at, to, places, item); }, py::make_tuple(x, indices, y)};
  }
  const Size inner = Product(Tail(made, along + 1)), outer = y.size() / (count * inner);
  return {[=] { GatherElements(from, at, to, outer, places.axis(), count, inner, item); },
          py::make_tuple(x, indices, y)};
}

template <class I>
Launch BindGatherNd(const AnyArray& x, const Array<I>& indices, AnyArray& y, Size batch_dims) {
  constexpr const char* kOp = "gather_nd";
  const Size item = MovedSize(kOp, x, y);
  const Dims shape = Shape(x), named = Shape(indices);
  const Size depth = named.empty() ? 0 : named.back();
  if (batch_dims < 0 || batch_dims >= indices.ndim() || x.ndim() < batch_dims + depth) {
    throw py::value_error("gather_nd: x is " + Text(shape) + " but indices are " + Text(named) +
                          " with " + std::to_string(batch_dims) + " axes of batches");
  }
  const Dims batch(shape.begin(), shape.begin() + batch_dims);
  if (batch != Dims(named.begin(), named.begin() + batch_dims)) {
    throw py::value_error("gather_nd: batches of x are " + Text(batch) + " but indices are " +
                          Text(named));
  }
  const Dims rows(named.begin() + batch_dims, named.end() - 1);
  const Dims inner = Tail(shape, static_cast<std::size_t>(batch_dims + depth));
  Dims made(named.begin(), named.end() - 1);
  made.insert(made.end(), inner.begin(), inner.end());
  RequireShape(kOp, "y", y, made);
  if (y.size() == 0) return {};
  const std::vector<IndexedAxis> axes = IndexedAxes(x, batch_dims, depth);
  const Size outer = Product(batch), count = Product(rows), bytes = Product(inner) * item;
  const char* from = static_cast<const char*>(x.data());
  char* to = Written(kOp, y);
  const I* at = ReadPointer(kOp, "indices", indices);
  return {[=] { GatherNd(from, at, to, outer, count, axes, bytes); },
          py::make_tuple(x, indices, y)};
}

template <class I>
void Define(py::module_& m) {
  m.def("gather", &BindGather<I>, py::arg("x"), py::arg("indices"), py::arg("y"), py::arg("axis"));
  m.def("gather_elements", &BindGatherElements<I>, py::arg("x"), py::arg("indices"), py::arg("y"),
        py::arg("axis"));
  m.def("gather_nd", &BindGatherNd<I>, py::arg("x"), py::arg("indices"), py::arg("y"),
        py::arg("batch_dims"));
}

}  // namespace

void RegisterGather(py::module_& m) {
  Define<std::int32_t>(m);
  Define<std::int64_t>(m);
}

}  // namespace headrace::cpu::bind
