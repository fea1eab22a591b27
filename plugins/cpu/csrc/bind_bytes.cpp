// Bytes by themselves: packed, added, and made of floats.
#include "bind_bytes.h"

#include "kernels/quantized/byte_pack.h"
#include "kernels/quantized/dynamic_quantize.h"
#include "kernels/quantized/integer_add.h"

namespace headrace::cpu::bind {
namespace {

Made MadeOf(const char* op, const AnyArray& y) {
  if (py::isinstance<Ints>(y)) return Made::kInt32;
  if (py::isinstance<Floats>(y)) return Made::kFloat;
  return ByteOf(op, "y", y) == Byte::kInt8 ? Made::kInt8 : Made::kUint8;
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
  std::int8_t* to = WritePointer(kOp, "panels", panels);
  std::int32_t* of_columns = WritePointer(kOp, "sums", sums);
  const ByteMatrices matrices{static_cast<const std::uint8_t*>(Data(kOp, "matrix", matrix)),
                              item,
                              groups,
                              depth,
                              columns,
                              transposed ? columns * depth : columns,
                              matrix.shape(1),
                              transposed};
  return {[=] { Pack(matrices, to, of_columns); }, py::make_tuple(matrix, panels, sums)};
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

const void* ZeroPoint(const char* op, const char* name, const MaybeArray& zero, Byte item,
                      Size most) {
  if (!zero) return nullptr;
  if (ByteOf(op, name, *zero) != item) {
    throw py::type_error(std::string(op) + ": " + name + " has not the dtype of what it is for");
  }
  if (zero->size() != 1) RequireShape(op, name, *zero, most == 1 ? Dims{} : Dims{most});
  return zero->data();
}

ByteEpilogue EpilogueOf(const char* op, const RescaleArgs& args, const AnyArray& y) {
  const Size columns = Shape(y).back();
  ByteEpilogue epilogue;
  epilogue.made = MadeOf(op, y);
  const bool is_float = epilogue.made != Made::kInt32;
  if (is_float != args.scale.has_value() ||
      ((args.epilogue.bias || args.epilogue.addend) && !is_float)) {
    throw py::type_error(std::string(op) + ": y is int32 if there is no scale, and only then");
  }
  if (args.y_scale.has_value() != (is_float && epilogue.made != Made::kFloat)) {
    throw py::type_error(std::string(op) + ": y is bytes if there is a y_scale, and only then");
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
    epilogue.y_zero = ZeroPoint(op, "y_zero", args.y_zero, item);
  }
  epilogue.shift = ReadIfGiven(op, "shift", args.shift, {columns});
  RequireWriteable(op, "y", y);
  return epilogue;
}

void RegisterBytes(py::module_& m) {
  m.def("dynamic_quantize", &BindDynamicQuantize, py::arg("x"), py::arg("y"), py::arg("scale"),
        py::arg("zero_point"));
  m.def("pack_integers", &BindPackIntegers, py::arg("matrix"), py::arg("panels"), py::arg("sums"),
        py::arg("groups"), py::arg("transposed"));
  m.def("integer_add", &BindIntegerAdd, py::arg("a"), py::arg("b"), py::arg("y"),
        py::arg("factors"), py::arg("offset"), py::arg("limits"), py::arg("zero"));
  py::class_<RescaleArgs>(m, "Rescale", "How sums of products of bytes become the result.")
      .def(py::init<MaybeFloats, MaybeArray, MaybeInts, MaybeFloats, MaybeArray, EpilogueArgs>(),
           py::arg("scale") = py::none(), py::arg("x_zero") = py::none(),
           py::arg("shift") = py::none(), py::arg("y_scale") = py::none(),
           py::arg("y_zero") = py::none(), EpilogueArg());
}

}  // namespace headrace::cpu::bind
