// Products with packed weights, and the convolutions that are such products.
#include "bind_epilogue.h"
#include "bind_window.h"
#include "kernels/convolutions/conv.h"
#include "kernels/convolutions/winograd.h"
#include "kernels/products/gemm.h"

namespace headrace::cpu::bind {
namespace {

// Packed weights: of float32 or of 16 bits.
Panels PanelsOf(const char* op, const AnyArray& panels) {
  if (py::isinstance<Floats>(panels)) {
    return {ReadPointer(op, "panels", Floats(panels)), PanelItem::kFloat};
  }
  const std::string name = panels.dtype_name();
  if (panels.contiguous() && IsHalf(name)) {
    const auto* first = static_cast<const std::uint16_t*>(panels.data());
    RequireAligned(op, "panels", first);
    return {first, name == "float16" ? PanelItem::kFloat16 : PanelItem::kBfloat16};
  }
  throw py::type_error(std::string(op) +
                       ": panels must be contiguous, of float32, float16 or bfloat16");
}

// A `Conv` is made once and shared by the copies of the launch.
Launch BindConv(const Floats& x, const AnyArray& panels, Floats& y, const WindowArgs& window,
                Size groups, const EpilogueArgs& args) {
  constexpr const char* kOp = "conv";
  ConvShape shape;
  shape.window = ImageWindow(kOp, x, y, window);
  const Dims in = Shape(x), out = Shape(y);
  shape.n = in[0];
  shape.channels = in.back();
  shape.outputs = out.back();
  shape.groups = groups;
  if (groups < 1 || shape.channels % groups != 0 || shape.outputs % groups != 0) {
    throw py::value_error("conv: groups is " + std::to_string(groups) +
                          " but must divide the channels of x " + Text(in) + " and y " + Text(out));
  }
  RequireShape(kOp, "panels", panels,
               {groups * PanelCount(shape.outputs / groups),
                shape.window.KernelCount() * shape.channels / groups, kPanel});
  const Epilogue epilogue = MakeEpilogue(kOp, args, y, shape.outputs);
  if (y.size() == 0) return {};
  const std::shared_ptr<Conv> conv = MakeConv(
      shape, ReadPointer(kOp, "x", x), PanelsOf(kOp, panels), WritePointer(kOp, "y", y), epilogue);
  return {[conv] { conv->Run(); }, py::make_tuple(x, panels, y, args.bias, args.addend)};
}

Launch BindWinograd(const Floats& x, const Floats& panels, Floats& y, Size m,
                    const Dims& pads_begin, const EpilogueArgs& args) {
  constexpr const char* kOp = "winograd_conv";
  const Dims in = Shape(x), out = Shape(y);
  if (in.size() != 4 || out.size() != 4 || out[0] != in[0]) {
    throw py::value_error("winograd_conv: x is " + Text(in) + " and y is " + Text(out) +
                          " but must be [n, height, width, channels] with one n");
  }
  if (m != 2 && m != 4) {
    throw py::value_error("winograd_conv: m is " + std::to_string(m) + " but must be 2 or 4");
  }
  RequireDims(kOp, "x", in, 4, 0);
  RequireDims(kOp, "y", out, 4, 0);
  RequireDims(kOp, "pads_begin", pads_begin, 2, 0);
  WinogradConv conv;
  conv.n = in[0];
  conv.channels = in[3];
  conv.outputs = out[3];
  conv.m = m;
  for (int axis = 0; axis < 2; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    conv.in[axis] = in[i + 1];
    conv.out[axis] = out[i + 1];
    conv.pad[axis] = pads_begin[i];
  }
  RequireShape(kOp, "panels", panels,
               {(m + 2) * (m + 2), PanelCount(conv.outputs), conv.channels, kPanel});
  conv.epilogue = MakeEpilogue(kOp, args, y, conv.outputs);
  if (y.size() == 0) return {};
  conv.x = ReadPointer(kOp, "x", x);
  conv.panels = ReadPointer(kOp, "panels", panels);
  conv.y = WritePointer(kOp, "y", y);
  return {[conv] { Convolve(conv); }, py::make_tuple(x, panels, y, args.bias, args.addend)};
}

Launch BindMatmul(const Floats& x, const AnyArray& panels, Floats& y, const EpilogueArgs& args) {
  constexpr const char* kOp = "matmul";
  if (x.ndim() < 1 || y.ndim() != x.ndim()) {
    throw py::value_error("matmul: x is " + Text(Shape(x)) + " but y is " + Text(Shape(y)));
  }
  const Size depth = x.shape(x.ndim() - 1), columns = y.shape(y.ndim() - 1);
  Dims made = Shape(x);
  made.back() = columns;
  RequireShape(kOp, "y", y, made);
  RequireShape(kOp, "panels", panels, {PanelCount(columns), depth, kPanel});
  const Epilogue epilogue = MakeEpilogue(kOp, args, y, columns);
  if (y.size() == 0) return {};
  const DenseRows source{ReadPointer(kOp, "x", x), depth};
  const Panels weights = PanelsOf(kOp, panels);
  float* to = WritePointer(kOp, "y", y);
  const Size rows = y.size() / columns;
  return {[=] {
            const cpu::Product product{MakeRows(&source, rows, depth),
                                       weights.first,
                                       columns,
                                       to,
                                       columns,
                                       epilogue,
                                       weights.item};
            Multiply(&product, 1);
          },
          py::make_tuple(x, panels, y, args.bias, args.addend)};
}

// Floats that lie in any way: a view of weights with their axes in another order is not copied.
using AnyFloats = Array<float, true>;

// Elements from one index of each axis to the next.
Dims Strides(const char* op, const char* name, const AnyArray& array) {
  Dims strides;
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) {
    if (array.strides(axis) % array.itemsize() != 0) {
      throw py::value_error(std::string(op) + ": " + name + " is not aligned to its element size");
    }
    strides.push_back(array.strides(axis) / array.itemsize());
  }
  return strides;
}

// Where each element of the axes from `axis` on lies, the last axis fastest.
std::vector<Size> Places(const Dims& shape, const Dims& strides, std::size_t axis) {
  std::vector<Size> places{0};
  for (; axis < shape.size(); ++axis) {
    std::vector<Size> more;
    more.reserve(places.size() * static_cast<std::size_t>(shape[axis]));
    for (const Size place : places) {
      for (Size i = 0; i < shape[axis]; ++i) more.push_back(place + i * strides[axis]);
    }
    places.swap(more);
  }
  return places;
}

// T: float, what has 16 bits as integers, words or bytes.
template <class T>
Launch PackOf(const AnyArray& matrix, AnyArray& panels, Size groups, bool transposed) {
  constexpr const char* kOp = "pack";
  const Dims shape = Shape(matrix);
  if (shape.size() < 2 || (shape.size() > 2 && !transposed) || groups < 1 ||
      shape[transposed ? 0 : 1] % groups != 0) {
    throw py::value_error("pack: matrix is " + Text(shape) + " for " + std::to_string(groups) +
                          " groups of columns");
  }
  const Dims strides = Strides(kOp, "matrix", matrix);
  const Size columns = shape[transposed ? 0 : 1] / groups;
  const auto rows = std::make_shared<const std::vector<Size>>(
      transposed ? Places(shape, strides, 1) : Places({shape[0]}, strides, 0));
  const Size depth = static_cast<Size>(rows->size()), step = strides[transposed ? 0 : 1];
  RequireShape(kOp, "panels", panels, {groups * PanelCount(columns), depth, kPanel});
  if (panels.size() == 0) return {};
  const auto* from = static_cast<const T*>(matrix.data());
  RequireAligned(kOp, "matrix", from);
  RequireWriteable(kOp, "panels", panels);
  auto* to = static_cast<T*>(panels.mutable_data());
  RequireAligned(kOp, "panels", to);
  return {[=] {
            for (Size g = 0; g < groups; ++g) {
              const ScatteredMatrix<T> part{from + g * columns * step, rows->data(), step};
              Pack(part, depth, columns, to + g * PanelCount(columns) * kPanel * depth);
            }
          },
          py::make_tuple(matrix, panels)};
}

Launch BindPack(const AnyArray& matrix, AnyArray& panels, Size groups, bool transposed) {
  const std::string name = matrix.dtype_name();
  const bool is_known = name == "float32" || name == "uint32" || name == "uint8" || IsHalf(name);
  if (panels.dtype_name() != name || !panels.contiguous() || !is_known) {
    throw py::type_error(
        "pack: matrix and panels must be of one dtype, float32, float16, bfloat16, uint32 or "
        "uint8, and panels contiguous");
  }
  if (name == "float32") return PackOf<float>(matrix, panels, groups, transposed);
  if (name == "uint32") return PackOf<Word>(matrix, panels, groups, transposed);
  if (name == "uint8") return PackOf<std::uint8_t>(matrix, panels, groups, transposed);
  return PackOf<std::uint16_t>(matrix, panels, groups, transposed);
}

Launch BindWinogradPack(const AnyFloats& weight, Floats& panels, Size m) {
  constexpr const char* kOp = "winograd_pack";
  const Dims shape = Shape(weight);
  if (shape.size() != 4 || shape[1] != 3 || shape[2] != 3 || (m != 2 && m != 4)) {
    throw py::value_error("winograd_pack: weight is " + Text(shape) + " and m is " +
                          std::to_string(m) + " but must be [outputs, 3, 3, channels] and 2 or 4");
  }
  const Dims strides = Strides(kOp, "weight", weight);
  RequireAligned(kOp, "weight", weight.data());
  WinogradWeight work{shape[0], shape[3], m, weight.data(), {}};
  std::copy(strides.begin(), strides.end(), work.strides);
  RequireShape(kOp, "panels", panels,
               {(m + 2) * (m + 2), PanelCount(work.outputs), work.channels, kPanel});
  if (panels.size() == 0) return {};
  float* to = WritePointer(kOp, "panels", panels);
  return {[=] { Pack(work, to); }, py::make_tuple(weight, panels)};
}

}  // namespace

void RegisterGemm(py::module_& m) {
  m.def("pack", &BindPack, py::arg("matrix"), py::arg("panels"), py::arg("groups"),
        py::arg("transposed"));
  m.def("winograd_pack", &BindWinogradPack, py::arg("weight"), py::arg("panels"), py::arg("m"));
  m.def("conv", &BindConv, py::arg("x"), py::arg("panels"), py::arg("y"), py::arg("window"),
        py::arg("groups"), EpilogueArg());
  m.def("winograd_conv", &BindWinograd, py::arg("x"), py::arg("panels"), py::arg("y"), py::arg("m"),
        py::arg("pads_begin"), EpilogueArg());
  m.def("matmul", &BindMatmul, py::arg("x"), py::arg("panels"), py::arg("y"), EpilogueArg());
}

}  // namespace headrace::cpu::bind
