#include "bind_common.h"

namespace headrace::cpu::bind {

std::string DtypeName(const py::array& array) { return py::str(array.dtype().attr("name")); }

bool IsHalf(const std::string& name) { return name == "float16" || name == "bfloat16"; }

std::string Text(const Dims& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  }
  return text + "]";
}

Dims Shape(const py::array& array) { return {array.shape(), array.shape() + array.ndim()}; }

Dims Tail(const Dims& dims, std::size_t skip) {
  return {dims.begin() + static_cast<std::ptrdiff_t>(skip), dims.end()};
}

void RequireShape(const char* op, const char* name, const py::array& array, const Dims& expected) {
  const Dims actual = Shape(array);
  if (actual == expected) return;
  throw py::value_error(std::string(op) + ": " + name + " is " + Text(actual) + " but must be " +
                        Text(expected));
}

void RequireContiguous(const char* op, const char* name, const py::array& array) {
  if ((array.flags() & py::array::c_style) != 0) return;
  throw py::value_error(std::string(op) + ": " + name + " is not C-contiguous");
}

Size ItemSize(const char* op, const py::array& x, const py::array& y) {
  constexpr Size kMostItem = 16;
  const Size item = x.itemsize();
  if (item != y.itemsize()) {
    throw py::value_error(std::string(op) + ": x has elements of " + std::to_string(item) +
                          " bytes and y of " + std::to_string(y.itemsize()));
  }
  if (item < 1 || item > kMostItem || (item & (item - 1)) != 0) {
    throw py::value_error(std::string(op) + ": elements have " + std::to_string(item) +
                          " bytes but must have 1, 2, 4, 8 or 16");
  }
  return item;
}

void RequireSpatialRank(const char* op, const char* name, const py::array& array,
                        std::size_t leading) {
  const Dims dims = Shape(array);
  if (dims.size() > leading && dims.size() <= leading + 3) return;
  throw py::value_error(std::string(op) + ": " + name + " is " + Text(dims) +
                        " but must have 1 to 3 spatial axes after " + std::to_string(leading) +
                        " leading ones");
}

std::int64_t Product(const Dims& dims) {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) {
    if (dim == 0) return 0;
  }
  for (const std::int64_t dim : dims) {
    if (product > std::numeric_limits<std::int64_t>::max() / dim) return -1;
    product *= dim;
  }
  return product;
}

void RequireDims(const char* op, const char* name, const Dims& dims, std::size_t rank,
                 std::int64_t lowest) {
  bool in_range = true;
  for (const std::int64_t dim : dims) in_range = in_range && dim >= lowest && dim <= kLimit;
  if (dims.size() == rank && in_range) return;
  throw py::value_error(std::string(op) + ": " + name + " is " + Text(dims) + " but must be " +
                        std::to_string(rank) + " number(s) from " + std::to_string(lowest) +
                        " to " + std::to_string(kLimit));
}

std::array<Size, 3> Align(const Dims& dims, Size missing) {
  std::array<Size, 3> aligned{missing, missing, missing};
  for (std::size_t i = 0; i < dims.size(); ++i) aligned[3 - dims.size() + i] = dims[i];
  return aligned;
}

Window MakeWindow(const char* op, const Dims& in, const Dims& out, const WindowArgs& args,
                  std::int64_t lowest_pad) {
  const std::size_t rank = in.size();
  RequireDims(op, "the spatial input shape", in, rank, 0);
  RequireDims(op, "the spatial output shape", out, rank, 0);
  RequireDims(op, "kernel", args.kernel, rank, 1);
  RequireDims(op, "strides", args.strides, rank, 1);
  RequireDims(op, "dilations", args.dilations, rank, 1);
  RequireDims(op, "pads_begin", args.pads_begin, rank, lowest_pad);
  Window w;
  w.in = Align(in, 1);
  w.out = Align(out, 1);
  w.kernel = Align(args.kernel, 1);
  w.stride = Align(args.strides, 1);
  w.dilation = Align(args.dilations, 1);
  w.pad = Align(args.pads_begin, 0);
  return w;
}

}  // namespace headrace::cpu::bind
