// Products of batches of matrices.
#include <memory>

#include "bind_common.h"
#include "kernels/products/few_rows.h"
#include "kernels/products/gemm.h"
#include "kernels/products/integer_matmul.h"

namespace headrace::cpu::bind {
namespace {

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

// With packed matrices on the right.
struct PackedBatch {
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
  const Batch batch(kOp, a, b, y, a_places, b_places, transposed);
  const Size rows = batch.rows, depth = batch.depth, columns = batch.columns;
  RequireShape(kOp, "panels", panels, {b.shape(0), PanelCount(columns), depth, kPanel});
  if (y.size() == 0) return {};
  const Size packed = PanelCount(columns) * kPanel * depth;
  auto work = std::make_shared<PackedBatch>();
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
  for (const Size place : a_places) work->sources.push_back({from + place * rows * depth, depth});
  for (std::size_t i = 0; i < work->sources.size(); ++i) {
    work->products.push_back({MakeRows(&work->sources[i], rows, depth),
                              work->panels + b_places[i] * packed,
                              columns,
                              to + static_cast<Size>(i) * rows * columns,
                              columns,
                              {}});
  }
  return {[work] { work->Run(); }, py::make_tuple(a, b, panels, y)};
}

Launch BindFewRows(const Floats& a, const Floats& b, Floats& y, const Places& a_places,
                   const Places& b_places, bool transposed) {
  constexpr const char* kOp = "few_row_matmul";
  const Batch batch(kOp, a, b, y, a_places, b_places, transposed);
  if (y.size() == 0) return {};
  const float* left = ReadPointer(kOp, "a", a);
  const float* right = ReadPointer(kOp, "b", b);
  float* to = WritePointer(kOp, "y", y);
  return {[=] {
            batch.Each(left, right, to, [&](const float* one, const float* other, float* made) {
              MultiplyFewRows(one, other, made, batch.rows, batch.depth, batch.columns, transposed);
            });
          },
          py::make_tuple(a, b, y)};
}

template <class T>
Launch BindIntegers(const Array<T>& a, const Array<T>& b, Array<T>& y, const Places& a_places,
                    const Places& b_places) {
  constexpr const char* kOp = "integer_batch_matmul";
  const Batch batch(kOp, a, b, y, a_places, b_places, false);
  if (y.size() == 0) return {};
  const IntegerMatrices sides{batch.rows, batch.depth, batch.columns};
  const T* left = ReadPointer(kOp, "a", a);
  const T* right = ReadPointer(kOp, "b", b);
  T* to = WritePointer(kOp, "y", y);
  return {[=] {
            batch.Each(left, right, to, [&](const T* one, const T* other, T* made) {
              Multiply(sides, one, other, made);
            });
          },
          py::make_tuple(a, b, y)};
}

template <class T>
void DefineIntegers(py::module_& m) {
  m.def("integer_batch_matmul", &BindIntegers<T>, py::arg("a"), py::arg("b"), py::arg("y"),
        py::arg("a_places"), py::arg("b_places"));
}

}  // namespace

void RegisterBatchMatmul(py::module_& m) {
  m.def("batch_matmul", &BindBatchMatmul, py::arg("a"), py::arg("b"), py::arg("panels"),
        py::arg("y"), py::arg("a_places"), py::arg("b_places"), py::arg("transposed"));
  m.def("few_row_matmul", &BindFewRows, py::arg("a"), py::arg("b"), py::arg("y"),
        py::arg("a_places"), py::arg("b_places"), py::arg("transposed"));
  DefineIntegers<std::int32_t>(m);
  DefineIntegers<std::int64_t>(m);
}

}  // namespace headrace::cpu::bind
