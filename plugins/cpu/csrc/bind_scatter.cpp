// Rows put where indices say.
#include <cstdint>

#include "bind_common.h"
#include "kernels/moves/scatter.h"

namespace headrace::cpu::bind {
namespace {

template <class T, class I>
Launch Made(Scatter scatter, const AnyArray& x, const Array<I>& indices, const AnyArray& update,
            AnyArray& y) {
  constexpr const char* kOp = "scatter_nd";
  const Dims shape = Shape(x);
  const std::vector<Size> lengths(shape.begin(), shape.end() - 1);
  const Size count = indices.shape(0), inner = shape.back();
  const auto* from = static_cast<const T*>(x.data());
  const auto* put = static_cast<const T*>(update.data());
  auto* to = static_cast<T*>(y.mutable_data());
  RequireAligned(kOp, "x", from);
  RequireAligned(kOp, "update", put);
  RequireAligned(kOp, "y", to);
  const I* at = ReadPointer(kOp, "indices", indices);
  return {[=] { ScatterNd(scatter, from, at, put, to, lengths, count, inner); },
          py::make_tuple(x, indices, update, y)};
}

template <class I>
Launch BindScatterNd(const std::string& reduction, const AnyArray& x, const Array<I>& indices,
                     const AnyArray& update, AnyArray& y) {
  constexpr const char* kOp = "scatter_nd";
  if (indices.ndim() != 2 || x.ndim() != indices.shape(1) + 1) {
    throw py::value_error("scatter_nd: x is " + Text(Shape(x)) + " but indices are " +
                          Text(Shape(indices)) + "; x must have one axis more than these name");
  }
  RequireShape(kOp, "y", y, Shape(x));
  RequireShape(kOp, "update", update, {indices.shape(0), x.shape(x.ndim() - 1)});
  RequireContiguous(kOp, "x", x);
  RequireContiguous(kOp, "update", update);
  RequireContiguous(kOp, "y", y);
  if (!y.writeable()) throw py::value_error("scatter_nd: y is read-only");
  const std::string dtype = y.dtype_name();
  const Size item = ItemSize(kOp, x, y);
  if (update.dtype_name() != dtype) throw py::value_error("scatter_nd: update is not of " + dtype);
  if (reduction == "add") {
    if (dtype == "float32") return Made<float>(Scatter::kAdd, x, indices, update, y);
    if (dtype == "float64") return Made<double>(Scatter::kAdd, x, indices, update, y);
    if (dtype == "int32") return Made<std::int32_t>(Scatter::kAdd, x, indices, update, y);
    if (dtype == "int64") return Made<std::int64_t>(Scatter::kAdd, x, indices, update, y);
    throw py::value_error("scatter_nd: there is no sum of " + dtype);
  }
  if (reduction != "none") {
    throw py::value_error("scatter_nd: there is no reduction '" + reduction + "'");
  }
  if (item == 1) return Made<std::uint8_t>(Scatter::kReplace, x, indices, update, y);
  if (item == 2) return Made<std::uint16_t>(Scatter::kReplace, x, indices, update, y);
  if (item == 4) return Made<std::int32_t>(Scatter::kReplace, x, indices, update, y);
  if (item == 8) return Made<std::int64_t>(Scatter::kReplace, x, indices, update, y);
  throw py::value_error("scatter_nd: elements of " + std::to_string(item) + " bytes are not moved");
}

template <class I>
void Define(py::module_& m) {
  m.def("scatter_nd", &BindScatterNd<I>, py::arg("reduction"), py::arg("x"), py::arg("indices"),
        py::arg("update"), py::arg("y"));
}

}  // namespace

void RegisterScatter(py::module_& m) {
  Define<std::int32_t>(m);
  Define<std::int64_t>(m);
}

}  // namespace headrace::cpu::bind
