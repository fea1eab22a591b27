// Images whose channels are last: depthwise convolutions, pools, normalisations.
#include "bind_epilogue.h"
#include "bind_window.h"
#include "kernels/convolutions/depthwise_last.h"
#include "kernels/rows/norm_last.h"
#include "kernels/windows/pool_last.h"

namespace headrace::cpu::bind {
namespace {

Launch BindDepthwise(const Floats& x, const Floats& taps, Floats& y, const WindowArgs& window,
                     const EpilogueArgs& epilogue) {
  constexpr const char* kOp = "depthwise_conv_last";
  const Window w = ChannelWindow(kOp, x, y, window);
  if (w.in[0] != 1 || w.out[0] != 1 || w.kernel[0] != 1 || w.pad[0] != 0) {
    throw py::value_error(std::string(kOp) + ": x is " + Text(Shape(x)) +
                          " but must have 1 or 2 spatial axes");
  }
  DepthwiseLast conv;
  conv.n = x.shape(0);
  conv.channels = x.shape(x.ndim() - 1);
  for (int axis = 0; axis < 2; ++axis) {
    const auto from = static_cast<std::size_t>(axis + 1);
    conv.in[axis] = w.in[from];
    conv.out[axis] = w.out[from];
    conv.kernel[axis] = w.kernel[from];
    conv.stride[axis] = w.stride[from];
    conv.dilation[axis] = w.dilation[from];
    conv.pad[axis] = w.pad[from];
  }
  RequireShape(kOp, "taps", taps, {w.KernelCount(), conv.channels});
  conv.epilogue = MakeEpilogue(kOp, epilogue, y, conv.channels);
  if (y.size() == 0) return {};
  conv.x = ReadPointer(kOp, "x", x);
  conv.taps = ReadPointer(kOp, "taps", taps);
  conv.y = WritePointer(kOp, "y", y);
  return {[conv] { Convolve(conv); }, py::make_tuple(x, taps, y, epilogue.bias, epilogue.addend)};
}

Launch BindPool(const std::string& kind, const Floats& x, Floats& y, const WindowArgs& window,
                const Dims& pads_end, bool count_include_pad) {
  constexpr const char* kOp = "pool_last";
  PoolLast pool;
  pool.window = ChannelWindow(kOp, x, y, window);
  if (kind != "max" && kind != "mean") {
    throw py::value_error("pool_last: kind is '" + kind + "' but must be max or mean");
  }
  RequireDims(kOp, "pads_end", pads_end, window.kernel.size(), 0);
  pool.kind = kind == "max" ? PoolKind::kLargest : PoolKind::kMean;
  pool.n = x.shape(0);
  pool.channels = x.shape(x.ndim() - 1);
  pool.count_pad = count_include_pad;
  pool.pad_end = Align(pads_end, 0);
  if (y.size() == 0) return {};
  pool.x = ReadPointer(kOp, "x", x);
  pool.y = WritePointer(kOp, "y", y);
  return {[pool] { Fold(pool); }, py::make_tuple(x, y)};
}

Launch BindBytePool(const AnyArray& x, AnyArray& y, const WindowArgs& window) {
  constexpr const char* kOp = "max_pool_bytes";
  const bool is_signed = py::isinstance<Array<std::int8_t>>(x);
  const bool agree =
      is_signed ? py::isinstance<Array<std::int8_t>>(y)
                : py::isinstance<Array<std::uint8_t>>(x) && py::isinstance<Array<std::uint8_t>>(y);
  if (!agree) {
    throw py::type_error("max_pool_bytes: x and y must be contiguous, both int8 or both uint8");
  }
  BytePool pool;
  pool.window = ChannelWindow(kOp, x, y, window);
  pool.n = x.shape(0);
  pool.channels = x.shape(x.ndim() - 1);
  pool.is_signed = is_signed;
  RequireWriteable(kOp, "y", y);
  if (y.size() == 0) return {};
  pool.x = static_cast<const std::uint8_t*>(x.data());
  pool.y = static_cast<std::uint8_t*>(y.mutable_data());
  return {[pool] { Fold(pool); }, py::make_tuple(x, y)};
}

Launch BindFoldRows(const std::string& kind, const Floats& x, Floats& y) {
  constexpr const char* kOp = "fold_rows";
  if (x.ndim() != 3) {
    throw py::value_error("fold_rows: x is " + Text(Shape(x)) + " but must have 3 axes");
  }
  RequireShape(kOp, "y", y, {x.shape(0), x.shape(2)});
  RowsKind what = RowsKind::kSum;
  if (kind == "mean") {
    what = RowsKind::kMean;
  } else if (kind == "max") {
    what = RowsKind::kLargest;
  } else if (kind != "sum") {
    throw py::value_error("fold_rows: kind is '" + kind + "' but must be sum, mean or max");
  }
  if (y.size() == 0) return {};
  const float* from = ReadPointer(kOp, "x", x);
  float* to = WritePointer(kOp, "y", y);
  const Size outer = x.shape(0), rows = x.shape(1), columns = x.shape(2);
  return {[=] { FoldRows(what, from, to, outer, rows, columns); }, py::make_tuple(x, y)};
}

Launch BindGroupNorm(const Floats& x, const Floats& gamma, const Floats& beta, Floats& y,
                     Size groups, double epsilon) {
  constexpr const char* kOp = "group_norm_last";
  const Dims shape = Shape(x);
  if (shape.size() < 2) {
    throw py::value_error("group_norm_last: x is " + Text(shape) + " but must have 2 axes or more");
  }
  GroupNormLast norm;
  norm.n = shape.front();
  norm.channels = shape.back();
  norm.pixels = Product(Spatial(shape));
  norm.groups = groups;
  norm.epsilon = epsilon;
  if (groups < 1 || norm.channels % groups != 0) {
    throw py::value_error("group_norm_last: groups is " + std::to_string(groups) +
                          " but must divide the channels of x " + Text(shape));
  }
  RequireShape(kOp, "gamma", gamma, {norm.channels});
  RequireShape(kOp, "beta", beta, {norm.channels});
  RequireShape(kOp, "y", y, shape);
  if (y.size() == 0) return {};
  norm.x = ReadPointer(kOp, "x", x);
  norm.gamma = ReadPointer(kOp, "gamma", gamma);
  norm.beta = ReadPointer(kOp, "beta", beta);
  norm.y = WritePointer(kOp, "y", y);
  return {[norm] { Standardize(norm); }, py::make_tuple(x, gamma, beta, y)};
}

Launch BindNormalization(const Floats& x, const Floats& mean, const Floats& variance,
                         const Floats& gamma, const Floats& beta, Floats& y, double epsilon) {
  constexpr const char* kOp = "normalization_last";
  if (x.ndim() < 1) throw py::value_error("normalization_last: x must have an axis");
  NormalizationLast norm;
  norm.channels = x.shape(x.ndim() - 1);
  norm.epsilon = epsilon;
  RequireShape(kOp, "mean", mean, {norm.channels});
  RequireShape(kOp, "variance", variance, {norm.channels});
  RequireShape(kOp, "gamma", gamma, {norm.channels});
  RequireShape(kOp, "beta", beta, {norm.channels});
  RequireShape(kOp, "y", y, Shape(x));
  if (y.size() == 0) return {};
  norm.rows = x.size() / norm.channels;
  norm.x = ReadPointer(kOp, "x", x);
  norm.mean = ReadPointer(kOp, "mean", mean);
  norm.variance = ReadPointer(kOp, "variance", variance);
  norm.gamma = ReadPointer(kOp, "gamma", gamma);
  norm.beta = ReadPointer(kOp, "beta", beta);
  norm.y = WritePointer(kOp, "y", y);
  return {[norm] { Normalize(norm); }, py::make_tuple(x, mean, variance, gamma, beta, y)};
}

}  // namespace

void RegisterImage(py::module_& m) {
  m.def("depthwise_conv_last", &BindDepthwise, py::arg("x"), py::arg("taps"), py::arg("y"),
        py::arg("window"), EpilogueArg());
  m.def("max_pool_bytes", &BindBytePool, py::arg("x"), py::arg("y"), py::arg("window"));
  m.def("pool_last", &BindPool, py::arg("kind"), py::arg("x"), py::arg("y"), py::arg("window"),
        py::arg("pads_end"), py::arg("count_include_pad"));
  m.def("fold_rows", &BindFoldRows, py::arg("kind"), py::arg("x"), py::arg("y"));
  m.def("group_norm_last", &BindGroupNorm, py::arg("x"), py::arg("gamma"), py::arg("beta"),
        py::arg("y"), py::arg("groups"), py::arg("epsilon"));
  m.def("normalization_last", &BindNormalization, py::arg("x"), py::arg("mean"),
        py::arg("variance"), py::arg("gamma"), py::arg("beta"), py::arg("y"), py::arg("epsilon"));
}

}  // namespace headrace::cpu::bind
