#include "bind_window.h"
#include "kernels/convolutions/depthwise_conv.h"
#include "kernels/convolutions/im2col.h"

namespace headrace::cpu::bind {
namespace {

// im2col and col2im take the same pair of arrays, one read and one written. A negative pad begins
// inside the image: so the windows of one strip of a larger output are asked for.
Window ColumnWindow(const char* op, const char* image_name, const AnyArray& image,
                    const AnyArray& cols, const Dims& out, const WindowArgs& args) {
  RequireSpatialRank(op, image_name, image, 1);
  const Dims shape = Shape(image);
  RequireDims(op, "out", out, shape.size() - 1, 0);
  const Window w = MakeWindow(op, Tail(shape, 1), out, args, -kLimit);
  Dims rows = args.kernel;
  rows.push_back(shape[0]);
  RequireShape(op, "cols", cols, {Product(rows), Product(out)});
  return w;
}

template <class T>
Launch BindIm2Col(const Array<T>& x, Array<T>& cols, const WindowArgs& window, const Dims& out) {
  const Window w = ColumnWindow("im2col", "x", x, cols, out, window);
  if (cols.size() == 0) return {};
  const T* from = ReadPointer("im2col", "x", x);
  T* to = WritePointer("im2col", "cols", cols);
  const Size channels = x.shape(0);
  return {[=] { Im2Col(from, to, channels, w); }, py::make_tuple(x, cols)};
}

template <class T>
Launch BindCol2Im(const Array<T>& cols, Array<T>& y, const WindowArgs& window, const Dims& out) {
  Window w = ColumnWindow("col2im", "y", y, cols, out, window);
  if (y.size() == 0) return {};
  if (cols.size() == 0) w.out = {0, 0, 0};  // nothing to add, but y must still be zeroed
  const T* from = ReadPointer("col2im", "cols", cols);
  T* to = WritePointer("col2im", "y", y);
  const Size channels = y.shape(0);
  return {[=] { Col2Im(from, to, channels, w); }, py::make_tuple(cols, y)};
}

template <class T>
Launch BindDepthwise(const Array<T>& x, const Array<T>& w, const std::optional<Array<T>>& bias,
                     Array<T>& y, const WindowArgs& args) {
  constexpr const char* kOp = "depthwise_conv";
  RequireSpatialRank(kOp, "x", x, 2);
  const Dims x_shape = Shape(x);
  const Dims w_shape = Shape(w);
  const Dims y_shape = Shape(y);
  if (w_shape.size() != x_shape.size() || y_shape.size() != x_shape.size()) {
    throw py::value_error("depthwise_conv: x is " + Text(x_shape) + ", w is " + Text(w_shape) +
                          " and y is " + Text(y_shape) + " but all need the same rank");
  }
  if (x_shape[1] == 0 || w_shape[0] % x_shape[1] != 0 || w_shape[1] != 1) {
    throw py::value_error("depthwise_conv: w is " + Text(w_shape) + " but x has " +
                          std::to_string(x_shape[1]) +
                          " channels, so w must start with [a multiple of that, 1]");
  }
  if (y_shape[0] != x_shape[0] || y_shape[1] != w_shape[0]) {
    throw py::value_error("depthwise_conv: y is " + Text(y_shape) + " but must start with " +
                          Text({x_shape[0], w_shape[0]}));
  }
  const T* offset = ReadIfGiven(kOp, "bias", bias, {w_shape[0]});
  const Window window = MakeWindow(kOp, Tail(x_shape, 2), Tail(y_shape, 2), args);
  if (args.kernel != Tail(w_shape, 2)) {
    throw py::value_error("depthwise_conv: kernel is " + Text(args.kernel) + " but w is " +
                          Text(w_shape));
  }
  if (y.size() == 0) return {};
  const T* from = ReadPointer(kOp, "x", x);
  const T* weight = ReadPointer(kOp, "w", w);
  T* to = WritePointer(kOp, "y", y);
  const DepthwiseConv<T> conv({x_shape[0], x_shape[1], w_shape[0] / x_shape[1]}, window);
  return {[=] { conv.Run(from, weight, offset, to); }, py::make_tuple(x, w, bias, y)};
}

template <class T>
void RegisterConvFor(py::module_& m) {
  m.def("im2col", &BindIm2Col<T>, py::arg("x"), py::arg("cols"), py::arg("window"), py::arg("out"),
        "Gather the windows of one image into columns; padding reads as 0.\n\n"
        "x: T[c, *spatial]; cols: T[c * prod(kernel), prod(out)], fully written. `out` is the\n"
        "spatial output shape, 1 to 3 axes, or that of a part of it that begins where its pads\n"
        "(negative inside the image) say. T is float32 or float64. No overlap.");
  m.def("col2im", &BindCol2Im<T>, py::arg("cols"), py::arg("y"), py::arg("window"), py::arg("out"),
        "Add columns back onto the image that im2col would have read: its adjoint.\n\n"
        "cols: T[c * prod(kernel), prod(out)]; y: T[c, *spatial], zeroed first. `out` and the\n"
        "window are those of im2col on y. T is float32 or float64. No overlap.");
  m.def("depthwise_conv", &BindDepthwise<T>, py::arg("x"), py::arg("w"), py::arg("bias"),
        py::arg("y"), py::arg("window"),
        "Convolve each channel by itself (groups == c).\n\n"
        "x: T[n, c, *spatial]; w: T[c * m, 1, *kernel]; bias: T[c * m] or None;\n"
        "y: T[n, c * m, *out], whose shape decides the output size. T is float32 or float64.\n"
        "y may not overlap the inputs.");
}

}  // namespace

void RegisterConv(py::module_& m) {
  RegisterConvFor<float>(m);
  RegisterConvFor<double>(m);
}

}  // namespace headrace::cpu::bind
