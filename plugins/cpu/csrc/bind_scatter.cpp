// Rows and elements put where indices say, and marks.
#include <cstdint>

#include "bind_places.h"
#include "kernels/moves/scatter.h"

namespace headrace::cpu::bind {
namespace {

// What the functions are given beside the indices, and what is asked of it.
struct Put {
  const char* op;
  const AnyArray& x;
  const AnyArray& update;
  AnyArray& y;

  void Require() const {
    RequireShape(op, "y", y, Shape(x));
    RequireContiguous(op, "x", x);
    RequireContiguous(op, "update", update);
    RequireContiguous(op, "y", y);
    const std::string dtype = y.dtype_name();
    RequireWriteable(op, "y", y);
    if (update.dtype_name() != dtype) {
      throw py::value_error(std::string(op) + ": update is not of " + dtype);
    }
  }
};

Scatter KindOf(const char* op, const std::string& reduction) {
  constexpr std::array<const char*, 5> kKinds = {"none", "add", "mul", "max", "min"};
  return static_cast<Scatter>(IndexOf(op, "reduction", kKinds, reduction));
}

// The launch of work(x, update, y), pointers to elements of the dtype; of what is only moved, to
// any of their size.
template <class Work>
Launch Of(const Put& put, Scatter scatter, const py::object& indices, Work work) {
  const auto made = [&](auto zero) -> Launch {
    using T = decltype(zero);
    const auto* from = static_cast<const T*>(put.x.data());
    const auto* update = static_cast<const T*>(put.update.data());
    auto* to = static_cast<T*>(put.y.mutable_data());
    RequireAligned(put.op, "x", from);
    RequireAligned(put.op, "update", update);
    RequireAligned(put.op, "y", to);
    return {[=] { work(from, update, to); }, py::make_tuple(put.x, indices, put.update, put.y)};
  };
  const std::string dtype = put.y.dtype_name();
  const Size item = ItemSize(put.op, put.x, put.y);
  if (scatter != Scatter::kReplace) {
    if (dtype == "float32") return made(float{});
    if (dtype == "float64") return made(double{});
    if (dtype == "int32") return made(std::int32_t{});
    if (dtype == "int64") return made(std::int64_t{});
    throw py::value_error(std::string(put.op) + ": elements of " + dtype + " are not combined");
  }
  if (item == 1) return made(std::uint8_t{});
  if (item == 2) return made(std::uint16_t{});
  if (item == 4) return made(std::int32_t{});
  if (item == 8) return made(std::int64_t{});
  throw py::value_error(std::string(put.op) + ": elements of " + std::to_string(item) +
                        " bytes are not moved");
}

template <class I>
Launch BindScatterNd(const std::string& reduction, const AnyArray& x, const Array<I>& indices,
                     const AnyArray& update, AnyArray& y) {
  constexpr const char* kOp = "scatter_nd";
  if (indices.ndim() != 2 || x.ndim() != indices.shape(1) + 1) {
    throw py::value_error("scatter_nd: x is " + Text(Shape(x)) + " but indices are " +
                          Text(Shape(indices)) + "; x must have one axis more than these name");
  }
  const Put put{kOp, x, update, y};
  put.Require();
  const Dims shape = Shape(x);
  const Size count = indices.shape(0), inner = shape.back();
  RequireShape(kOp, "update", update, {count, inner});
  const Scatter scatter = KindOf(kOp, reduction);
  const std::vector<IndexedAxis> axes = IndexedAxes(x, 0, indices.shape(1));
  const I* at = ReadPointer(kOp, "indices", indices);
  return Of(put, scatter, indices, [=](const auto* from, const auto* updates, auto* to) {
    ScatterNd(scatter, from, at, updates, to, axes, count, inner);
  });
}

template <class I>
Launch BindScatterElements(const std::string& reduction, const AnyArray& x, const Array<I>& indices,
                           const AnyArray& update, AnyArray& y, Size axis) {
  constexpr const char* kOp = "scatter_elements";
  const ElementPlaces places = PlacesOf(kOp, x, indices, axis);
  const Put put{kOp, x, update, y};
  put.Require();
  RequireShape(kOp, "update", update, Shape(indices));
  const Scatter scatter = KindOf(kOp, reduction);
  const Size elements = x.size();
  const I* at = ReadPointer(kOp, "indices", indices);
  return Of(put, scatter, indices, [=](const auto* from, const auto* updates, auto* to) {
    ScatterElements(scatter, from, at, updates, to, places, elements);
  });
}

template <class I>
Launch BindOneHot(const Array<I>& indices, const AnyArray& values, AnyArray& y) {
  constexpr const char* kOp = "one_hot";
  if (indices.ndim() != 2 || y.ndim() != 3) {
    throw py::value_error("one_hot: indices and y must have 2 and 3 axes");
  }
  const Size outer = indices.shape(0), depth = y.shape(1), inner = indices.shape(1);
  RequireShape(kOp, "y", y, {outer, depth, inner});
  RequireShape(kOp, "values", values, {2});
  const Put put{kOp, y, values, y};
  put.Require();
  const I* at = ReadPointer(kOp, "indices", indices);
  return Of(put, Scatter::kReplace, indices, [=](const auto*, const auto* both, auto* to) {
    OneHot(at, both, to, outer, depth, inner);
  });
}

template <class I>
void Define(py::module_& m) {
  m.def("scatter_nd", &BindScatterNd<I>, py::arg("reduction"), py::arg("x"), py::arg("indices"),
        py::arg("update"), py::arg("y"));
  m.def("scatter_elements", &BindScatterElements<I>, py::arg("reduction"), py::arg("x"),
        py::arg("indices"), py::arg("update"), py::arg("y"), py::arg("axis"));
  m.def("one_hot", &BindOneHot<I>, py::arg("indices"), py::arg("values"), py::arg("y"));
}

}  // namespace

void RegisterScatter(py::module_& m) {
  Define<std::int32_t>(m);
  Define<std::int64_t>(m);
}

}  // namespace headrace::cpu::bind
