// Products of bytes with packed weights, and the convolutions that are such products.
#include "bind_epilogue.h"
#include "bind_window.h"
#include "kernels/quantized/dynamic_quantize.h"
#include "kernels/quantized/integer_add.h"
#include "kernels/quantized/integer_conv.h"
#include "kernels/quantized/integer_depthwise.h"

namespace headrace::cpu::bind {
namespace {

using Ints = Array<std::int32_t>;
using MaybeInts = std::optional<Ints>;
using MaybeArray = std::optional<AnyArray>;

// The memory of an array of any dtype, which must be contiguous.
const void* Data(const char* op, const char* name, const AnyArray& array) {
  if (!array.contiguous()) {
    throw py::type_error(std::string(op) + ": " + name + " must be contiguous");
  }
  return array.data();
}

Byte ByteOf(const char* op, const char* name, const AnyArray& array) {
  if (py::isinstance<Array<std::int8_t>>(array)) return Byte::kInt8;
  if (py::isinstance<Array<std::uint8_t>>(array)) return Byte::kUint8;
  throw py::type_error(std::string(op) + ": " + name + " must be contiguous, int8 or uint8");
}

Made MadeOf(const char* op, const AnyArray& y) {
  if (py::isinstance<Ints>(y)) return Made::kInt32;
  if (py::isinstance<Floats>(y)) return Made::kFloat;
  return ByteOf(op, "y", y) == Byte::kInt8 ? Made::kInt8 : Made::kUint8;
}

const void* OneByte(const char* op, const char* name, const MaybeArray& zero, Byte item) {
  if (!zero) return nullptr;
  if (ByteOf(op, name, *zero) != item) {
    throw py::type_error(std::string(op) + ": " + name + " has not the dtype of what it is for");
  }
  if (zero->size() != 1) RequireShape(op, name, *zero, {});
  return zero->data();
}

// `_native.IntegerWeights`.
struct IntegerWeightsArgs {
  Array<std::int8_t> panels;
  Ints sums;
  MaybeInts zeros;
};

// `_native.Rescale`: how sums become y.
struct RescaleArgs {
  MaybeFloats scale;
  MaybeArray x_zero;
  MaybeInts shift;
  MaybeFloats y_scale;
  MaybeArray y_zero;
  EpilogueArgs epilogue;
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

// What becomes of the sums of all columns, of which y has so many.
ByteEpilogue EpilogueOf(const char* op, const RescaleArgs& args, const AnyArray& y) {
  const Size columns = Shape(y).back();
  ByteEpilogue epilogue;
  epilogue.made = MadeOf(op, y);
  const bool is_float = epilogue.made != Made::kInt32;
  if (is_float != args.scale.has_value() ||
      ((args.epilogue.bias || args.epilogue.addend) && !is_float)) {
    throw py::value_error(std::string(op) + ": y is int32 if there is no scale, and only then");
  }
  if (args.y_scale.has_value() != (is_float && epilogue.made != Made::kFloat)) {
    throw py::value_error(std::string(op) + ": y is bytes if there is a y_scale, and only then");
  }
  if (args.scale) {
    const bool one = args.scale->size() == 1;
    if (!one) RequireShape(op, "scale", *args.scale, {columns});
    epilogue.scale = ReadPointer(op, "scale", *args.scale);
    epilogue.scale_step = one ? 0 : 1;
  }
  epilogue.floats = MakeEpilogue(op, args.epilogue, y, columns);
  if (args.y_scale) {
    if (args.y_scale->size() != 1) RequireShape(op, "y_scale", *args.y_scale, {});
    epilogue.y_scale = ReadPointer(op, "y_scale", *args.y_scale);
    const Byte item = epilogue.made == Made::kInt8 ? Byte::kInt8 : Byte::kUint8;
    epilogue.y_zero = OneByte(op, "y_zero", args.y_zero, item);
  }
  epilogue.shift = ReadIfGiven(op, "shift", args.shift, {columns});
  RequireWriteable(op, "y", y);
  return epilogue;
}

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
  product.x_zero = OneByte(op, "x_zero", args.rescale.x_zero, product.rows.item);
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
  conv.x_zero = OneByte(kOp, "x_zero", rescale.x_zero, conv.item);
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

Launch BindPackIntegers(const AnyArray& matrix, Array<std::int8_t>& panels, Ints& sums, Size groups,
                        bool transposed) {
  constexpr const char* kOp = "pack_integers";
  if (matrix.ndim() != 2 || groups < 1 || matrix.shape(transposed ? 0 : 1) % groups != 0) {
    throw py::value_error("pack_integers: matrix is " + Text(Shape(matrix)) + " for " +
                          std::to_string(groups) + " groups of columns");
  }
  const Byte item = ByteOf(kOp, "matrix", matrix);
  const Size depth = matrix.shape(transposed ? 1 : 0);
  const Size columns = matrix.shape(transposed ? 0 : 1) / groups;
  RequireShape(kOp, "panels", panels, {groups * PanelCount(columns), Quads(depth), kPanel, kQuad});
  RequireShape(kOp, "sums", sums, {groups * columns});
  const auto* from = static_cast<const std::uint8_t*>(Data(kOp, "matrix", matrix));
  std::int8_t* to = WritePointer(kOp, "panels", panels);
  std::int32_t* of_columns = WritePointer(kOp, "sums", sums);
  const Size stride = matrix.shape(1), step = transposed ? columns * depth : columns;
  return {[=] {
            for (Size g = 0; g < groups; ++g) {
              Pack(from + g * step, item, depth, columns, stride, transposed,
                   to + g * PanelCount(columns) * Quads(depth) * kPanel * kQuad,
                   of_columns + g * columns);
            }
          },
          py::make_tuple(matrix, panels, sums)};
}

Launch BindIntegerAdd(const AnyArray& a, const AnyArray& b, AnyArray& y,
                      const std::pair<float, float>& factors, float offset,
                      const std::pair<float, float>& limits, std::int32_t zero) {
  constexpr const char* kOp = "integer_add";
  const Byte a_item = ByteOf(kOp, "a", a), b_item = ByteOf(kOp, "b", b);
  RequireShape(kOp, "b", b, Shape(a));
  RequireShape(kOp, "y", y, Shape(a));
  const bool is_signed = ByteOf(kOp, "y", y) == Byte::kInt8;
  const std::int32_t least = is_signed ? -128 : 0, most = is_signed ? 127 : 255;
  const auto [low, high] = limits;
  if (!(low <= high) || low + zero < least || high + zero > most) {
    throw py::value_error("integer_add: low and high, with zero added, are no bytes of y");
  }
  RequireWriteable(kOp, "y", y);
  const ByteSum sum{static_cast<const std::uint8_t*>(Data(kOp, "a", a)),
                    static_cast<const std::uint8_t*>(Data(kOp, "b", b)),
                    static_cast<std::uint8_t*>(const_cast<void*>(Data(kOp, "y", y))),
                    a_item,
                    b_item,
                    factors.first,
                    factors.second,
                    offset,
                    low,
                    high,
                    zero};
  return {[sum, count = y.size()] { Add(sum, count); }, py::make_tuple(a, b, y)};
}

Launch BindDynamicQuantize(const Floats& x, Array<std::uint8_t>& y, Floats& scale,
                           Array<std::uint8_t>& zero_point) {
  constexpr const char* kOp = "dynamic_quantize";
  RequireShape(kOp, "y", y, Shape(x));
  RequireShape(kOp, "scale", scale, {});
  RequireShape(kOp, "zero_point", zero_point, {});
  const float* from = ReadPointer(kOp, "x", x);
  std::uint8_t* to = WritePointer(kOp, "y", y);
  float* step = WritePointer(kOp, "scale", scale);
  std::uint8_t* zero = WritePointer(kOp, "zero_point", zero_point);
  return {[=, count = x.size()] { DynamicQuantize(from, count, to, step, zero); },
          py::make_tuple(x, y, scale, zero_point)};
}

}  // namespace

void RegisterInteger(py::module_& m) {
  m.def("dynamic_quantize", &BindDynamicQuantize, py::arg("x"), py::arg("y"), py::arg("scale"),
        py::arg("zero_point"));
  m.def("pack_integers", &BindPackIntegers, py::arg("matrix"), py::arg("panels"), py::arg("sums"),
        py::arg("groups"), py::arg("transposed"));
  m.def("integer_add", &BindIntegerAdd, py::arg("a"), py::arg("b"), py::arg("y"),
        py::arg("factors"), py::arg("offset"), py::arg("limits"), py::arg("zero"));
  py::class_<IntegerWeightsArgs>(m, "IntegerWeights", "Packed bytes and the sums of columns.")
      .def(py::init<Array<std::int8_t>, Ints, MaybeInts>(), py::arg("panels"), py::arg("sums"),
           py::arg("zeros") = py::none());
  py::class_<RescaleArgs>(m, "Rescale", "How sums of products of bytes become the result.")
      .def(py::init<MaybeFloats, MaybeArray, MaybeInts, MaybeFloats, MaybeArray, EpilogueArgs>(),
           py::arg("scale") = py::none(), py::arg("x_zero") = py::none(),
           py::arg("shift") = py::none(), py::arg("y_scale") = py::none(),
           py::arg("y_zero") = py::none(), EpilogueArg());
  m.def("integer_matmul", &BindIntegerMatmul, py::arg("x"), py::arg("weights"), py::arg("y"),
        py::arg("corrections"), py::arg("rescale"));
  m.def("integer_conv", &BindIntegerConv, py::arg("x"), py::arg("weights"), py::arg("y"),
        py::arg("corrections"), py::arg("rescale"), py::arg("window"), py::arg("groups"));
  m.def("integer_depthwise_conv", &BindIntegerDepthwise, py::arg("x"), py::arg("weights"),
        py::arg("y"), py::arg("prepared"), py::arg("rescale"), py::arg("window"));
}

}  // namespace headrace::cpu::bind
