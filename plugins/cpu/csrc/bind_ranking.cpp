// The order of elements along an axis.
#include "bind_common.h"
#include "kernels/rows/ranking.h"

namespace headrace::cpu::bind {
namespace {

void RequireLines(const char* op, const AnyArray& x) {
  if (x.ndim() != 3) throw py::value_error(std::string(op) + ": x must have 3 axes");
  if (x.shape(1) > kLimit) {
    throw py::value_error(std::string(op) + ": the axis must have fewer than 2^31 elements");
  }
}

template <class T>
Launch BindTopK(const Array<T>& x, Array<T>& values, Array<std::int64_t>& indices, bool largest) {
  constexpr const char* kOp = "top_k";
  RequireLines(kOp, x);
  const Size count = values.ndim() > 1 ? values.shape(1) : 0;
  const Best best{x.shape(0), x.shape(1), x.shape(2), count, largest};
  RequireShape(kOp, "values", values, {best.outer, count, best.inner});
  RequireShape(kOp, "indices", indices, {best.outer, count, best.inner});
  if (count > best.length) {
    throw py::value_error("top_k: " + std::to_string(count) + " of " + std::to_string(best.length) +
                          " elements cannot be taken");
  }
  const T* from = ReadPointer(kOp, "x", x);
  T* to = WritePointer(kOp, "values", values);
  std::int64_t* at = WritePointer(kOp, "indices", indices);
  if (values.size() == 0) return {};
  return {[=] { TakeBest(best, from, to, at); }, py::make_tuple(x, values, indices)};
}

template <class T>
Launch BindArgExtreme(const Array<T>& x, Array<std::int64_t>& y, bool largest, bool last) {
  constexpr const char* kOp = "arg_extreme";
  RequireLines(kOp, x);
  const Extreme extreme{x.shape(0), x.shape(1), x.shape(2), largest, last};
  RequireShape(kOp, "y", y, {extreme.outer, extreme.inner});
  if (extreme.length == 0) throw py::value_error("arg_extreme: nothing stands on an empty axis");
  const T* from = ReadPointer(kOp, "x", x);
  std::int64_t* to = WritePointer(kOp, "y", y);
  if (y.size() == 0) return {};
  return {[=] { FindExtreme(extreme, from, to); }, py::make_tuple(x, y)};
}

template <class T>
void Define(py::module_& m) {
  m.def("top_k", &BindTopK<T>, py::arg("x"), py::arg("values"), py::arg("indices"),
        py::arg("largest"));
  m.def("arg_extreme", &BindArgExtreme<T>, py::arg("x"), py::arg("y"), py::arg("largest"),
        py::arg("last"));
}

}  // namespace

void RegisterRanking(py::module_& m) {
  Define<float>(m);
  Define<double>(m);
  Define<std::int8_t>(m);
  Define<std::uint8_t>(m);
  Define<std::int32_t>(m);
  Define<std::int64_t>(m);
}

}  // namespace headrace::cpu::bind
