// Products of batches of matrices of bytes, none of them packed before.
#include <memory>

#include "bind_batch.h"
#include "bind_bytes.h"
#include "kernels/quantized/byte_batch.h"
#include "kernels/quantized/integer_conv.h"

namespace headrace::cpu::bind {
namespace {

Launch BindByteBatch(const AnyArray& a, const AnyArray& b, const MaybeArray& b_zero, AnyArray& y,
                     const std::pair<Array<std::int8_t>, Ints>& packed, const Places& a_places,
                     const Places& b_places, bool transposed, const RescaleArgs& rescale) {
  constexpr const char* kOp = "byte_batch_matmul";
  auto [panels, numbers] = packed;
  const Batch batch(kOp, a, b, y, a_places, b_places, transposed);
  const Size matrices = b.shape(0), columns = batch.columns;
  const Size wide = PanelCount(columns), corrected = CorrectionCount(columns);
  RequireShape(kOp, "panels", panels, {matrices * wide, Quads(batch.depth), kPanel, kQuad});
  RequireShape(kOp, "numbers", numbers, {(matrices + 1) * columns + batch.products * corrected});
  const auto work = std::make_shared<ByteBatch>();
  work->right = {static_cast<const std::uint8_t*>(Data(kOp, "b", b)),
                 ByteOf(kOp, "b", b),
                 matrices,
                 batch.depth,
                 columns,
                 batch.depth * columns,
                 transposed ? batch.depth : columns,
                 transposed};
  work->zero = ZeroPoint(kOp, "b_zero", b_zero, work->right.item, columns);
  work->zero_of_each = b_zero && b_zero->size() > 1;
  work->panels = WritePointer(kOp, "panels", panels);
  work->sums = WritePointer(kOp, "numbers", numbers);
  work->zeros = work->sums + matrices * columns;
  ByteProduct product{};
  const Byte item = ByteOf(kOp, "a", a);
  product.columns = columns;
  product.x_zero = ZeroPoint(kOp, "x_zero", rescale.x_zero, item);
  product.y_stride = columns;
  product.epilogue = EpilogueOf(kOp, rescale, y);
  Data(kOp, "y", y);
  if (y.size() == 0) return {};
  const auto* left = static_cast<const std::uint8_t*>(Data(kOp, "a", a));
  const float* addend = product.epilogue.floats.addend;
  for (Size i = 0; i < batch.products; ++i) {
    const auto place = static_cast<std::size_t>(i);
    const Size made = i * batch.rows * columns, right = b_places[place];
    product.rows =
        MakeRows(left + a_places[place] * batch.rows * batch.depth, batch.rows, batch.depth, item);
    product.panels = work->panels + right * wide * Quads(batch.depth) * kPanel * kQuad;
    product.sums = work->sums + right * columns;
    product.corrections = work->zeros + columns + i * corrected;
    product.y = static_cast<char*>(y.mutable_data()) + made * y.itemsize();
    if (addend != nullptr) product.epilogue.floats.addend = addend + made;
    work->products.push_back(product);
  }
  return {[work] { Multiply(work.get()); },
          py::make_tuple(a, b, b_zero, y, panels, numbers, rescale.scale, rescale.x_zero,
                         rescale.shift, rescale.y_scale, rescale.y_zero, rescale.epilogue.bias,
                         rescale.epilogue.addend)};
}

}  // namespace

void RegisterByteBatch(py::module_& m) {
  m.def("byte_batch_matmul", &BindByteBatch, py::arg("a"), py::arg("b"), py::arg("b_zero"),
        py::arg("y"), py::arg("packed"), py::arg("a_places"), py::arg("b_places"),
        py::arg("transposed"), py::arg("rescale"));
}

}  // namespace headrace::cpu::bind
