#include "bind_common.h"

namespace headrace::cpu::bind {

bool IsHalf(const std::string& name) { return name == "float16" || name == "bfloat16"; }

std::string Text(const Dims& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  }
  return text + "]";
}

Dims Shape(const AnyArray& array) { return {array.shape(), array.shape() + array.ndim()}; }

Dims Tail(const Dims& dims, std::size_t skip) {
  return {dims.begin() + static_cast<std::ptrdiff_t>(skip), dims.end()};
}

void RequireShape(const char* op, const char* name, const AnyArray& array, const Dims& expected) {
  const Dims actual = Shape(array);
  if (actual == expected) return;
  throw py::value_error(std::string(op) + ": " + name + " is " + Text(actual) + " but must be " +
                        Text(expected));
}

void RequireContiguous(const char* op, const char* name, const AnyArray& array) {
  if (array.contiguous()) return;
  throw py::value_error(std::string(op) + ": " + name + " is not C-contiguous");
}

void RequireWriteable(const char* op, const char* name, const AnyArray& array) {
  if (array.writeable()) return;
  throw py::value_error(std::string(op) + ": " + name + " is read-only");
}

void RequireAligned(const char* op, const char* name, const void* first, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(first) % bytes == 0) return;
  throw py::value_error(std::string(op) + ": " + name + " is not aligned to its element size");
}

Size ItemSize(const char* op, const AnyArray& x, const AnyArray& y) {
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

}  // namespace headrace::cpu::bind
