// Rows that lie one after another, and reductions of an axis.
#include "bind_common.h"
#include "kernels/rows/folds.h"
#include "kernels/rows/rows.h"

namespace headrace::cpu::bind {
namespace {

// Rows and the length of each: the last axis.
std::pair<Size, Size> Sides(const char* op, const Floats& x) {
  if (x.ndim() < 1) throw py::value_error(std::string(op) + ": x must have an axis");
  const Size length = x.shape(x.ndim() - 1);
  return {length == 0 ? 0 : x.size() / length, length};
}

Launch BindSoftmax(const Floats& x, Floats& y, bool logarithm) {
  const auto [rows, length] = Sides("softmax", x);
  RequireShape("softmax", "y", y, Shape(x));
  const float* from = ReadPointer("softmax", "x", x);
  float* to = WritePointer("softmax", "y", y);
  return {[=, count = rows, size = length] { SoftmaxRows(from, to, count, size, logarithm); },
          py::make_tuple(x, y)};
}

Launch BindSoftmaxColumns(const Floats& x, Floats& y, bool logarithm) {
  constexpr const char* kOp = "softmax_columns";
  if (x.ndim() != 3) throw py::value_error("softmax_columns: x must have three axes");
  RequireShape(kOp, "y", y, Shape(x));
  const Size matrices = x.shape(0), length = x.shape(1), columns = x.shape(2);
  const float* from = ReadPointer(kOp, "x", x);
  float* to = WritePointer(kOp, "y", y);
  return {[=] { SoftmaxColumns(from, to, matrices, length, columns, logarithm); },
          py::make_tuple(x, y)};
}

Launch BindLayerNorm(const Floats& x, const std::optional<Floats>& scale,
                     const std::optional<Floats>& bias, Floats& y, double epsilon) {
  constexpr const char* kOp = "layer_norm";
  const auto [rows, length] = Sides(kOp, x);
  RequireShape(kOp, "y", y, Shape(x));
  const float* from = ReadPointer(kOp, "x", x);
  const float* scales = ReadIfGiven(kOp, "scale", scale, {length});
  const float* biases = ReadIfGiven(kOp, "bias", bias, {length});
  float* to = WritePointer(kOp, "y", y);
  return {[=, count = rows, size = length] {
            LayerNormRows(from, scales, biases, to, count, size, epsilon);
          },
          py::make_tuple(x, scale, bias, y)};
}

Fold FoldOf(const char* op, const std::string& kind) {
  constexpr std::array<const char*, 5> kKinds = {"sum", "mean", "max", "min", "prod"};
  return static_cast<Fold>(IndexOf(op, "kind", kKinds, kind));
}

Launch BindFold(const std::string& kind, const Floats& x, Floats& y) {
  constexpr const char* kOp = "fold_each_row";
  const auto [rows, length] = Sides(kOp, x);
  Dims made = Shape(x);
  made.pop_back();
  RequireShape(kOp, "y", y, made);
  if (length == 0) throw py::value_error("fold_each_row: rows of x are empty");
  const Fold fold = FoldOf(kOp, kind);
  const float* from = ReadPointer(kOp, "x", x);
  float* to = WritePointer(kOp, "y", y);
  return {[=, count = rows, size = length] { FoldEachRow(fold, from, to, count, size); },
          py::make_tuple(x, y)};
}

template <class T>
Launch BindFoldAxis(const std::string& kind, const Array<T>& x, Array<T>& y) {
  constexpr const char* kOp = "fold_axis";
  if (x.ndim() != 3) throw py::value_error("fold_axis: x must have three axes");
  const Size outer = x.shape(0), length = x.shape(1), inner = x.shape(2);
  RequireShape(kOp, "y", y, {outer, inner});
  if (length == 0) throw py::value_error("fold_axis: the axis of x is empty");
  const Fold fold = FoldOf(kOp, kind);
  if (fold == Fold::kMean && std::is_integral_v<T>) {
    throw py::value_error("fold_axis: integers have no mean");
  }
  const T* from = ReadPointer(kOp, "x", x);
  T* to = WritePointer(kOp, "y", y);
  return {[=] { FoldAxis(fold, from, to, outer, length, inner); }, py::make_tuple(x, y)};
}

template <class T>
void DefineFoldAxis(py::module_& m) {
  m.def("fold_axis", &BindFoldAxis<T>, py::arg("kind"), py::arg("x"), py::arg("y"));
}

}  // namespace

void RegisterRows(py::module_& m) {
  m.def("softmax", &BindSoftmax, py::arg("x"), py::arg("y"), py::arg("logarithm"));
  m.def("softmax_columns", &BindSoftmaxColumns, py::arg("x"), py::arg("y"), py::arg("logarithm"));
  m.def("layer_norm", &BindLayerNorm, py::arg("x"), py::arg("scale"), py::arg("bias"), py::arg("y"),
        py::arg("epsilon"));
  m.def("fold_each_row", &BindFold, py::arg("kind"), py::arg("x"), py::arg("y"));
  DefineFoldAxis<float>(m);
  DefineFoldAxis<double>(m);
  DefineFoldAxis<std::int32_t>(m);
  DefineFoldAxis<std::int64_t>(m);
  DefineFoldAxis<std::int8_t>(m);
  DefineFoldAxis<std::uint8_t>(m);
}

}  // namespace headrace::cpu::bind
