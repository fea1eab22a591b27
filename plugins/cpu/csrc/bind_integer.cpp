// Products of bytes with packed weights, and the convolutions that are such products.
#include "bind_bytes.h"
#include "bind_window.h"
#include "kernels/quantized/integer_conv.h"
#include "kernels/quantized/integer_depthwise.h"

namespace headrace::cpu::bind {
namespace {

// `_native.IntegerWeights`.
struct IntegerWeightsArgs {
  Array<std::int8_t> panels;
  Ints sums;
  MaybeInts zeros;
};

// What products and convolutions share.
struct ByteArgs {
  const AnyArray& x;
  const IntegerWeightsArgs& weights;
  AnyArray& y;
  Ints& corrections;
  const RescaleArgs& rescale;

  py::tuple Arrays() const {
    return py::make_tuple(x, weights.panels, weights.sums, weights.zeros, y, corrections,
                          rescale.scale, rescale.x_zero, rescale.shift, rescale.y_scale,
                          rescale.y_zero, rescale.epilogue.bias, rescale.epilogue.addend);
  }
};

// One product for each group of columns; the rows of each are still to be said.
std::vector<ByteProduct> MakeProducts(const char* op, const ByteArgs& args, Size groups,
                                      Size depth) {
  const Size columns = Shape(args.y).back(), own = columns / groups;
  RequireShape(op, "panels", args.weights.panels,
               {groups * PanelCount(own), Quads(depth), kPanel, kQuad});
  RequireShape(op, "corrections", args.corrections, {groups * CorrectionCount(own)});
  ByteProduct product{};
  product.rows.item = ByteOf(op, "x", args.x);
  product.columns = own;
  product.x_zero = ZeroPoint(op, "x_zero", args.rescale.x_zero, product.rows.item);
  product.y_stride = columns;
  product.epilogue = EpilogueOf(op, args.rescale, args.y);
  product.sums = ReadIfGiven<std::int32_t>(op, "sums", args.weights.sums, {columns});
  product.weight_zeros = ReadIfGiven(op, "zeros", args.weights.zeros, {columns});
  const std::int8_t* panels = ReadPointer(op, "panels", args.weights.panels);
  std::int32_t* corrections = WritePointer(op, "corrections", args.corrections);
  auto* y = static_cast<char*>(args.y.mutable_data());
  std::vector<ByteProduct> products;
  for (Size g = 0; g < groups; ++g) {
    ByteProduct part = product;
    const Size first = g * own;
    part.panels = panels + g * PanelCount(own) * Quads(depth) * kPanel * kQuad;
    part.corrections = corrections + g * CorrectionCount(own);
    part.y = y + first * args.y.itemsize();
    part.sums += first;
    if (part.weight_zeros != nullptr) part.weight_zeros += first;
    if (part.epilogue.shift != nullptr) part.epilogue.shift += first;
    if (part.epilogue.scale != nullptr) part.epilogue.scale += first * part.epilogue.scale_step;
    if (part.epilogue.floats.bias != nullptr) part.epilogue.floats.bias += first;
    if (part.epilogue.floats.addend != nullptr) part.epilogue.floats.addend += first;
    products.push_back(part);
  }
  return products;
}

Launch BindIntegerMatmul(const AnyArray& x, const IntegerWeightsArgs& weights, AnyArray& y,
                         Ints& corrections, const RescaleArgs& rescale) {
  constexpr const char* kOp = "integer_matmul";
  const Dims in = Shape(x), out = Shape(y);
  if (in.empty() || out.size() != in.size() || !std::equal(in.begin(), in.end() - 1, out.begin())) {
    throw py::value_error("integer_matmul: x is " + Text(in) + " but y is " + Text(out));
  }
  const ByteArgs args{x, weights, y, corrections, rescale};
  ByteProduct product = MakeProducts(kOp, args, 1, in.back())[0];
  Data(kOp, "y", y);
  if (y.size() == 0) return {};
  product.rows = MakeRows(static_cast<const std::uint8_t*>(Data(kOp, "x", x)),
                          y.size() / out.back(), in.back(), product.rows.item);
  return {[=]() mutable { Multiply(&product, 1); }, args.Arrays()};
}

// A convolution whose rows are made once.
struct GroupedConv {
  std::vector<ByteWindows> windows;
  std::vector<ByteProduct> products;
};

Launch BindIntegerConv(const AnyArray& x, const IntegerWeightsArgs& weights, AnyArray& y,
                       Ints& corrections, const RescaleArgs& rescale, const WindowArgs& window,
                       Size groups) {
  constexpr const char* kOp = "integer_conv";
  const Window places = ImageWindow(kOp, x, y, window);
  const Dims in = Shape(x), out = Shape(y);
  if (groups < 1 || in.back() % groups != 0 || out.back() % groups != 0) {
    throw py::value_error("integer_conv: groups is " + std::to_string(groups) +
                          " but must divide the channels of x " + Text(in) + " and y " + Text(out));
  }
  const Size channels = in.back(), group = channels / groups;
  const ByteArgs args{x, weights, y, corrections, rescale};
  const auto conv = std::make_shared<GroupedConv>();
  conv->products = MakeProducts(kOp, args, groups, places.KernelCount() * group);
  Data(kOp, "y", y);
  if (y.size() == 0) return {};
  const auto* from = static_cast<const std::uint8_t*>(Data(kOp, "x", x));
  for (Size g = 0; g < groups; ++g) {
    const auto* zero = static_cast<const std::uint8_t*>(conv->products[0].x_zero);
    conv->windows.push_back({from + g * group, places, channels, group, zero});
  }
  for (std::size_t g = 0; g < conv->products.size(); ++g) {
    ByteProduct& product = conv->products[g];
    product.rows = MakeRows(&conv->windows[g], in[0], product.rows.item);
  }
  return {[conv] { Multiply(conv->products.data(), static_cast<Size>(conv->products.size())); },
          args.Arrays()};
}

Launch BindIntegerDepthwise(const AnyArray& x, const IntegerWeightsArgs& weights, AnyArray& y,
                            Ints& prepared, const RescaleArgs& rescale, const WindowArgs& window) {
  constexpr const char* kOp = "integer_depthwise_conv";
  ByteDepthwise conv{};
  conv.window = ChannelWindow(kOp, x, y, window);
  conv.n = x.shape(0);
  conv.channels = x.shape(x.ndim() - 1);
  const Size quads = Quads(conv.window.KernelCount());
  RequireShape(kOp, "panels", weights.panels,
               {ByteBlocks(conv.channels), quads, kByteBlock * kQuad});
  RequireShape(kOp, "prepared", prepared, {PreparedCount(conv.channels)});
  conv.item = ByteOf(kOp, "x", x);
  conv.x_zero = ZeroPoint(kOp, "x_zero", rescale.x_zero, conv.item);
  conv.epilogue = EpilogueOf(kOp, rescale, y);
  conv.sums = ReadIfGiven<std::int32_t>(kOp, "sums", weights.sums, {conv.channels});
  conv.weight_zeros = ReadIfGiven(kOp, "zeros", weights.zeros, {conv.channels});
  conv.panels = ReadPointer(kOp, "panels", weights.panels);
  conv.prepared = WritePointer(kOp, "prepared", prepared);
  Data(kOp, "y", y);
  if (y.size() == 0) return {};
  conv.x = static_cast<const std::uint8_t*>(Data(kOp, "x", x));
  conv.y = y.mutable_data();
  return {[conv] { Convolve(conv); }, ByteArgs{x, weights, y, prepared, rescale}.Arrays()};
}

}  // namespace

void RegisterInteger(py::module_& m) {
  py::class_<IntegerWeightsArgs>(m, "IntegerWeights", "Packed bytes and the sums of columns.")
      .def(py::init<Array<std::int8_t>, Ints, MaybeInts>(), py::arg("panels"), py::arg("sums"),
           py::arg("zeros") = py::none());
  m.def("integer_matmul", &BindIntegerMatmul, py::arg("x"), py::arg("weights"), py::arg("y"),
        py::arg("corrections"), py::arg("rescale"));
  m.def("integer_conv", &BindIntegerConv, py::arg("x"), py::arg("weights"), py::arg("y"),
        py::arg("corrections"), py::arg("rescale"), py::arg("window"), py::arg("groups"));
  m.def("integer_depthwise_conv", &BindIntegerDepthwise, py::arg("x"), py::arg("weights"),
        py::arg("y"), py::arg("prepared"), py::arg("rescale"), py::arg("window"));
}

}  // namespace headrace::cpu::bind
