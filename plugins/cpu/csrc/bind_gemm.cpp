// Products with packed weights, and the convolutions that are such products.
#include "bind_epilogue.h"
#include "kernels/conv.h"
#include "kernels/gemm.h"
#include "kernels/winograd.h"

namespace headrace::cpu::bind {
namespace {

// A `Conv` is made once and shared by the copies of the launch.
Launch BindConv(const Floats& x, const Floats& panels, const MaybeFloats& bias,
                const MaybeFloats& addend, Floats& y, const Dims& kernel, const Dims& strides,
                const Dims& dilations, const Dims& pads_begin, Size groups,
                const std::string& activation, float alpha, float beta, bool addend_last) {
  constexpr const char* kOp = "conv";
  RequireSpatialRank(kOp, "x", x, 2);
  const Dims in = Shape(x), out = Shape(y);
  if (out.size() != in.size() || out[0] != in[0]) {
    throw py::value_error("conv: y is " + Text(out) + " but x is " + Text(in));
  }
  ConvShape shape;
  const auto spatial = [](const Dims& dims) { return Dims(dims.begin() + 1, dims.end() - 1); };
  shape.window =
      MakeWindow(kOp, spatial(in), spatial(out), {kernel, strides, dilations, pads_begin});
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
  const Epilogue epilogue =
      MakeEpilogue(kOp, {bias, addend, activation, alpha, beta, addend_last}, y, shape.outputs);
  if (y.size() == 0) return {};
  const std::shared_ptr<Conv> conv =
      MakeConv(shape, ReadPointer(kOp, "x", x), ReadPointer(kOp, "panels", panels),
               WritePointer(kOp, "y", y), epilogue);
  return {[conv] { conv->Run(); }, py::make_tuple(x, panels, bias, addend, y)};
}

Launch BindWinograd(const Floats& x, const Floats& panels, const MaybeFloats& bias,
                    const MaybeFloats& addend, Floats& y, Size m, const Dims& pads_begin,
                    const std::string& activation, float alpha, float beta, bool addend_last) {
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
  conv.epilogue =
      MakeEpilogue(kOp, {bias, addend, activation, alpha, beta, addend_last}, y, conv.outputs);
  if (y.size() == 0) return {};
  conv.x = ReadPointer(kOp, "x", x);
  conv.panels = ReadPointer(kOp, "panels", panels);
  conv.y = WritePointer(kOp, "y", y);
  return {[conv] { Convolve(conv); }, py::make_tuple(x, panels, bias, addend, y)};
}

Launch BindMatmul(const Floats& x, const Floats& panels, const MaybeFloats& bias,
                  const MaybeFloats& addend, Floats& y, const std::string& activation, float alpha,
                  float beta, bool addend_last) {
  constexpr const char* kOp = "matmul";
  if (x.ndim() < 1 || y.ndim() != x.ndim()) {
    throw py::value_error("matmul: x is " + Text(Shape(x)) + " but y is " + Text(Shape(y)));
  }
  const Size depth = x.shape(x.ndim() - 1), columns = y.shape(y.ndim() - 1);
  Dims made = Shape(x);
  made.back() = columns;
  RequireShape(kOp, "y", y, made);
  RequireShape(kOp, "panels", panels, {PanelCount(columns), depth, kPanel});
  const Epilogue epilogue =
      MakeEpilogue(kOp, {bias, addend, activation, alpha, beta, addend_last}, y, columns);
  if (y.size() == 0) return {};
  const DenseRows source{ReadPointer(kOp, "x", x), depth};
  const float* weights = ReadPointer(kOp, "panels", panels);
  float* to = WritePointer(kOp, "y", y);
  const Size rows = y.size() / columns;
  return {[=] {
            const cpu::Product product{
                MakeRows(&source, rows, depth), weights, columns, to, columns, epilogue};
            Multiply(&product, 1);
          },
          py::make_tuple(x, panels, bias, addend, y)};
}

Launch BindPack(const Floats& matrix, Floats& panels, Size groups, bool transposed) {
  constexpr const char* kOp = "pack";
  if (matrix.ndim() != 2 || groups < 1 || matrix.shape(transposed ? 0 : 1) % groups != 0) {
    throw py::value_error("pack: matrix is " + Text(Shape(matrix)) + " for " +
                          std::to_string(groups) + " groups of columns");
  }
  const Size depth = matrix.shape(transposed ? 1 : 0);
  const Size columns = matrix.shape(transposed ? 0 : 1) / groups;
  RequireShape(kOp, "panels", panels, {groups * PanelCount(columns), depth, kPanel});
  if (panels.size() == 0) return {};
  const float* from = ReadPointer(kOp, "matrix", matrix);
  float* to = WritePointer(kOp, "panels", panels);
  const Size stride = matrix.shape(1), step = transposed ? columns * depth : columns;
  return {[=] {
            for (Size g = 0; g < groups; ++g) {
              Pack(from + g * step, depth, columns, stride, transposed,
                   to + g * PanelCount(columns) * kPanel * depth);
            }
          },
          py::make_tuple(matrix, panels)};
}

}  // namespace

void RegisterGemm(py::module_& m) {
  m.def("pack", &BindPack, py::arg("matrix").noconvert(), py::arg("panels").noconvert(),
        py::arg("groups"), py::arg("transposed"));
  m.def("conv", &BindConv, py::arg("x").noconvert(), py::arg("panels").noconvert(),
        py::arg("bias").noconvert(), py::arg("addend").noconvert(), py::arg("y").noconvert(),
        py::arg("kernel"), py::arg("strides"), py::arg("dilations"), py::arg("pads_begin"),
        py::arg("groups"), py::arg("activation"), py::arg("alpha"), py::arg("beta"),
        py::arg("addend_last"));
  m.def("winograd_conv", &BindWinograd, py::arg("x").noconvert(), py::arg("panels").noconvert(),
        py::arg("bias").noconvert(), py::arg("addend").noconvert(), py::arg("y").noconvert(),
        py::arg("m"), py::arg("pads_begin"), py::arg("activation"), py::arg("alpha"),
        py::arg("beta"), py::arg("addend_last"));
  m.def("matmul", &BindMatmul, py::arg("x").noconvert(), py::arg("panels").noconvert(),
        py::arg("bias").noconvert(), py::arg("addend").noconvert(), py::arg("y").noconvert(),
        py::arg("activation"), py::arg("alpha"), py::arg("beta"), py::arg("addend_last"));
}

}  // namespace headrace::cpu::bind
