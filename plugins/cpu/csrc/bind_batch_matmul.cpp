// Products of batches of matrices.
#include <memory>

#include "bind_batch.h"
#include "kernels/products/few_rows.h"
#include "kernels/products/gemm.h"
#include "kernels/products/integer_matmul.h"

namespace headrace::cpu::bind {
namespace {

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
