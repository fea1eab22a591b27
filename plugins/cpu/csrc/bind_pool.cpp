#include "bind_window.h"
#include "kernels/windows/avg_pool.h"
#include "kernels/windows/max_pool.h"

namespace headrace::cpu::bind {
namespace {

Window PoolWindow(const char* op, const AnyArray& x, const AnyArray& y, const WindowArgs& args) {
  RequireSpatialRank(op, "x", x, 2);
  const Dims x_shape = Shape(x);
  const Dims y_shape = Shape(y);
  if (y_shape.size() != x_shape.size() || y_shape[0] != x_shape[0] || y_shape[1] != x_shape[1]) {
    throw py::value_error(std::string(op) + ": y is " + Text(y_shape) + " but x is " +
                          Text(x_shape) + "; rank, batch and channels must agree");
  }
  return MakeWindow(op, Tail(x_shape, 2), Tail(y_shape, 2), args);
}

template <class T>
Launch BindMaxPool(const Array<T>& x, Array<T>& y, std::optional<Array<std::int64_t>>& indices,
                   const WindowArgs& window, bool column_major) {
  constexpr const char* kOp = "max_pool";
  const Window w = PoolWindow(kOp, x, y, window);
  std::int64_t* where = WriteIfGiven(kOp, "indices", indices, Shape(y));
  if (y.size() == 0) return {};
  const T* from = ReadPointer(kOp, "x", x);
  T* to = WritePointer(kOp, "y", y);
  const Size planes = x.shape(0) * x.shape(1);
  const IndexOrder order = column_major ? IndexOrder::kColumnMajor : IndexOrder::kRowMajor;
  const MaxPool<T> pool(w);
  if (where == nullptr) return {[=] { pool.Run(from, to, planes); }, py::make_tuple(x, y)};
  return {[=] { pool.Run(from, to, where, order, planes); }, py::make_tuple(x, y, indices)};
}

template <class T>
Launch BindAvgPool(const Array<T>& x, Array<T>& y, const WindowArgs& window, const Dims& pads_end,
                   bool count_include_pad) {
  constexpr const char* kOp = "avg_pool";
  const Window w = PoolWindow(kOp, x, y, window);
  RequireDims(kOp, "pads_end", pads_end, window.kernel.size(), 0);
  if (y.size() == 0) return {};
  const T* from = ReadPointer(kOp, "x", x);
  T* to = WritePointer(kOp, "y", y);
  const Size planes = x.shape(0) * x.shape(1);
  const AvgPool<T> pool(w, {count_include_pad, Align(pads_end, 0)});
  return {[=] { pool.Run(from, to, planes); }, py::make_tuple(x, y)};
}

template <class T>
void RegisterMaxPoolFor(py::module_& m) {
  m.def("max_pool", &BindMaxPool<T>, py::arg("x"), py::arg("y"), py::arg("indices"),
        py::arg("window"), py::arg("column_major"),
        "Take the largest element of each window; padding never wins, NaN always does.\n\n"
        "x: T[n, c, *spatial]; y: T[n, c, *out], whose shape decides how many windows there are;\n"
        "the last may overhang x. indices: int64[n, c, *out] or None: the first winner as a flat\n"
        "index into all of x, its spatial part counted first axis fastest if column_major. A\n"
        "window on padding alone gives the lowest T and index -1. T is float32, float64, int8,\n"
        "uint8, int32 or int64. No overlap.");
}

template <class T>
void RegisterAvgPoolFor(py::module_& m) {
  m.def("avg_pool", &BindAvgPool<T>, py::arg("x"), py::arg("y"), py::arg("window"),
        py::arg("pads_end"), py::arg("count_include_pad"),
        "Take the mean of each window.\n\n"
        "x: T[n, c, *spatial]; y: T[n, c, *out], whose shape decides how many windows there are.\n"
        "The divisor counts real elements, and explicit padding if count_include_pad, but never\n"
        "the overhang beyond x and pads_end. A window in which nothing counts gives 0. T is\n"
        "float32 or float64. No overlap.");
}

}  // namespace

void RegisterPool(py::module_& m) {
  RegisterMaxPoolFor<float>(m);
  RegisterMaxPoolFor<double>(m);
  RegisterMaxPoolFor<std::int8_t>(m);
  RegisterMaxPoolFor<std::uint8_t>(m);
  RegisterMaxPoolFor<std::int32_t>(m);
  RegisterMaxPoolFor<std::int64_t>(m);
  RegisterAvgPoolFor<float>(m);
  RegisterAvgPoolFor<double>(m);
}

}  // namespace headrace::cpu::bind
