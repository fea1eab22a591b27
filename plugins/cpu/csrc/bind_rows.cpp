// Rows that lie one after another, pairs of classes, and products of batches of matrices.
#include "bind_common.h"
#include "kernels/learners/couple_pairs.h"
#include "kernels/products/few_rows.h"
#include "kernels/products/gemm.h"
#include "kernels/products/integer_matmul.h"
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

Launch BindCouplePairs(const Floats& shares, Floats& y) {
  constexpr const char* kOp = "couple_pairs";
  if (shares.ndim() != 2 || y.ndim() != 2 || y.shape(1) < 2) {
    throw py::value_error("couple_pairs: shares and y must have two axes, of two classes or more");
  }
  const Size rows = y.shape(0), classes = y.shape(1);
  RequireShape(kOp, "shares", shares, {rows, classes * (classes - 1) / 2});
  const float* from = ReadPointer(kOp, "shares", shares);
  float* to = WritePointer(kOp, "y", y);
  return {[=] { CouplePairs(from, to, rows, classes); }, py::make_tuple(shares, y)};
}

// Of each product: which matrix of a batch it reads.
using Places = std::vector<Size>;

void RequirePlaces(const char* op, const char* name, const Places& places, Size products,
                   Size matrices) {
  bool fit = static_cast<Size>(places.size()) == products;
  for (const Size place : places) fit = fit && place >= 0 && place < matrices;
  if (fit) return;
  throw py::value_error(std::string(op) + ": " + name + " must be " + std::to_string(products) +
                        " numbers below " + std::to_string(matrices));
}

struct BatchMatmul {
  const float* b;
  float* panels;
  Size matrices, depth, columns, packed;
  bool transposed;
  std::vector<DenseRows> sources;
  std::vector<cpu::Product> products;

  void Run() const {
    for (Size i = 0; i < matrices; ++i) {
      Pack(b + i * depth * columns, depth, columns, transposed ? depth : columns, transposed,
           panels + i * packed);
    }
    Multiply(products.data(), static_cast<Size>(products.size()));
  }
};

Launch BindBatchMatmul(const Floats& a, const Floats& b, Floats& panels, Floats& y,
                       const Places& a_places, const Places& b_places, bool transposed) {
  constexpr const char* kOp = "batch_matmul";
  if (a.ndim() != 3 || b.ndim() != 3 || y.ndim() != 3) {
    throw py::value_error("batch_matmul: a, b and y must have three axes");
  }
  const Size products = y.shape(0), rows = y.shape(1), columns = y.shape(2), depth = a.shape(2);
  RequireShape(kOp, "a", a, {a.shape(0), rows, depth});
  RequireShape(kOp, "b", b,
               transposed ? Dims{b.shape(0), columns, depth} : Dims{b.shape(0), depth, columns});
  const Size packed = PanelCount(columns) * kPanel * depth;
  RequireShape(kOp, "panels", panels, {b.shape(0), PanelCount(columns), depth, kPanel});
  RequirePlaces(kOp, "a_places", a_places, products, a.shape(0));
  RequirePlaces(kOp, "b_places", b_places, products, b.shape(0));
  if (y.size() == 0) return {};
  auto work = std::make_shared<BatchMatmul>();
  *work = {ReadPointer(kOp, "b", b),
           WritePointer(kOp, "panels", panels),
           b.shape(0),
           depth,
           columns,
           packed,
           transposed,
           {},
           {}};
  const float* from = ReadPointer(kOp, "a", a);
  float* to = WritePointer(kOp, "y", y);
  for (Size i = 0; i < products; ++i) {
    const auto at = static_cast<std::size_t>(i);
    work->sources.push_back({from + a_places[at] * rows * depth, depth});
  }
  for (Size i = 0; i < products; ++i) {
    const auto at = static_cast<std::size_t>(i);
    work->products.push_back({MakeRows(&work->sources[at], rows, depth),
                              work->panels + b_places[at] * packed,
                              columns,
                              to + i * rows * columns,
                              columns,
                              {}});
  }
  return {[work] { work->Run(); }, py::make_tuple(a, b, panels, y)};
}

Launch BindFewRows(const Floats& a, const Floats& b, Floats& y, const Places& a_places,
                   const Places& b_places, bool transposed) {
  constexpr const char* kOp = "few_row_matmul";
  if (a.ndim() != 3 || b.ndim() != 3 || y.ndim() != 3) {
    throw py::value_error("few_row_matmul: a, b and y must have three axes");
  }
  const Size products = y.shape(0), rows = y.shape(1), columns = y.shape(2), depth = a.shape(2);
  RequireShape(kOp, "a", a, {a.shape(0), rows, depth});
  RequireShape(kOp, "b", b,
               transposed ? Dims{b.shape(0), columns, depth} : Dims{b.shape(0), depth, columns});
  RequirePlaces(kOp, "a_places", a_places, products, a.shape(0));
  RequirePlaces(kOp, "b_places", b_places, products, b.shape(0));
  if (y.size() == 0) return {};
  const float* left = ReadPointer(kOp, "a", a);
  const float* right = ReadPointer(kOp, "b", b);
  float* to = WritePointer(kOp, "y", y);
  return {[=] {
            for (Size i = 0; i < products; ++i) {
              const auto at = static_cast<std::size_t>(i);
              MultiplyFewRows(left + a_places[at] * rows * depth,
                              right + b_places[at] * depth * columns, to + i * rows * columns, rows,
                              depth, columns, transposed);
            }
          },
          py::make_tuple(a, b, y)};
}

template <class T>
Launch BindIntegerMatmul(const Array<T>& a, const Array<T>& b, Array<T>& y, const Places& a_places,
                         const Places& b_places) {
  constexpr const char* kOp = "integer_batch_matmul";
  if (a.ndim() != 3 || b.ndim() != 3 || y.ndim() != 3) {
    throw py::value_error("integer_batch_matmul: a, b and y must have three axes");
  }
  const Size products = y.shape(0);
  const IntegerMatrices m{y.shape(1), a.shape(2), y.shape(2)};
  RequireShape(kOp, "a", a, {a.shape(0), m.rows, m.depth});
  RequireShape(kOp, "b", b, {b.shape(0), m.depth, m.columns});
  RequirePlaces(kOp, "a_places", a_places, products, a.shape(0));
  RequirePlaces(kOp, "b_places", b_places, products, b.shape(0));
  if (y.size() == 0) return {};
  const T* left = ReadPointer(kOp, "a", a);
  const T* right = ReadPointer(kOp, "b", b);
  T* to = WritePointer(kOp, "y", y);
  return {[=] {
            for (Size i = 0; i < products; ++i) {
              const auto at = static_cast<std::size_t>(i);
              Multiply(m, left + a_places[at] * m.rows * m.depth,
                       right + b_places[at] * m.depth * m.columns, to + i * m.rows * m.columns);
            }
          },
          py::make_tuple(a, b, y)};
}

template <class T>
void DefineIntegerMatmul(py::module_& m) {
  m.def("integer_batch_matmul", &BindIntegerMatmul<T>, py::arg("a"), py::arg("b"), py::arg("y"),
        py::arg("a_places"), py::arg("b_places"));
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
  m.def("couple_pairs", &BindCouplePairs, py::arg("shares"), py::arg("y"));
  m.def("batch_matmul", &BindBatchMatmul, py::arg("a"), py::arg("b"), py::arg("panels"),
        py::arg("y"), py::arg("a_places"), py::arg("b_places"), py::arg("transposed"));
  m.def("few_row_matmul", &BindFewRows, py::arg("a"), py::arg("b"), py::arg("y"),
        py::arg("a_places"), py::arg("b_places"), py::arg("transposed"));
  DefineIntegerMatmul<std::int32_t>(m);
  DefineIntegerMatmul<std::int64_t>(m);
}

}  // namespace headrace::cpu::bind
