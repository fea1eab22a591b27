// Copies: with strides, by tables of positions, and by indices. Elements are bytes here, of any
// dtype.
#include <optional>
#include <tuple>
#include <utility>

#include "bind_common.h"
#include "kernels/copy.h"
#include "kernels/gather.h"

namespace headrace::cpu::bind {
namespace {

constexpr Size kMostItem = 16;

Size ItemSize(const char* op, const py::array& x, const py::array& y) {
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

void RequireContiguous(const char* op, const char* name, const py::array& array) {
  if ((array.flags() & py::array::c_style) != 0) return;
  throw py::value_error(std::string(op) + ": " + name + " is not C-contiguous");
}

// Throws ValueError unless all that begins at `offset` and goes by `strides` lies in `array`.
void RequireInside(const char* name, const py::array& array, Size offset, const Dims& shape,
                   const Dims& strides) {
  Size low = offset, high = offset;
  bool fits = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    Size reach;
    fits = fits && !__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) &&
           !__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high);
  }
  if (fits && low >= 0 && high < array.size()) return;
  throw py::value_error(std::string("copy: ") + name + " is " + Text(Shape(array)) +
                        " and has no elements at offset " + std::to_string(offset) +
                        " with strides " + Text(strides) + " and shape " + Text(shape));
}

using Part = std::tuple<py::array, Dims, Size, Dims, Size, Dims>;

Launch BindCopy(const std::vector<Part>& parts, py::array& y) {
  constexpr const char* kOp = "copy";
  RequireContiguous(kOp, "y", y);
  auto copies = std::make_shared<std::vector<StridedCopy>>();
  py::list arrays;
  for (const auto& [x, shape, from_offset, from_strides, to_offset, to_strides] : parts) {
    RequireContiguous(kOp, "x", x);
    const Size item = ItemSize(kOp, x, y);
    if (from_strides.size() != shape.size() || to_strides.size() != shape.size()) {
      throw py::value_error("copy: shape is " + Text(shape) + " and strides are " +
                            Text(from_strides) + " and " + Text(to_strides));
    }
    if (Product(shape) == 0) continue;
    RequireDims(kOp, "shape", shape, shape.size(), 1);
    RequireInside("x", x, from_offset, shape, from_strides);
    RequireInside("y", y, to_offset, shape, to_strides);
    std::vector<CopyAxis> axes;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      axes.push_back({shape[i], from_strides[i] * item, to_strides[i] * item});
    }
    if (!y.writeable()) throw py::value_error("copy: y is read-only");
    copies->emplace_back(static_cast<const char*>(x.data()) + from_offset * item,
                         static_cast<char*>(y.mutable_data()) + to_offset * item, std::move(axes),
                         item);
    arrays.append(x);
  }
  arrays.append(y);
  return {[copies] {
            for (const StridedCopy& copy : *copies) copy.Run();
          },
          py::tuple(arrays)};
}

using Table = Array<std::int32_t>;

Launch BindTake(const py::array& x, py::array& y, const std::vector<std::optional<Table>>& tables,
                const std::optional<py::array>& fill) {
  constexpr const char* kOp = "take";
  RequireContiguous(kOp, "x", x);
  RequireContiguous(kOp, "y", y);
  const Size item = ItemSize(kOp, x, y);
  if (fill && (fill->itemsize() != item || fill->size() != 1)) {
    throw py::value_error("take: fill must be one element of the dtype of x");
  }
  if (static_cast<std::size_t>(x.ndim()) != tables.size() || y.ndim() != x.ndim()) {
    throw py::value_error("take: x is " + Text(Shape(x)) + " and y is " + Text(Shape(y)) +
                          " but there are " + std::to_string(tables.size()) + " tables");
  }
  std::vector<TableAxis> axes;
  for (py::ssize_t i = 0; i < x.ndim(); ++i) {
    TableAxis axis{x.shape(i), y.shape(i), {}};
    const auto& table = tables[static_cast<std::size_t>(i)];
    const Size count = table ? static_cast<Size>(table->size()) : axis.length;
    if (count != axis.count || axis.length > kLimit) {
      throw py::value_error("take: y is " + Text(Shape(y)) + " but axis " + std::to_string(i) +
                            " has " + std::to_string(count) + " positions");
    }
    if (table) {
      axis.table.assign(table->data(), table->data() + count);
      for (const std::int32_t position : axis.table) {
        if (position < -1 || position >= axis.length) {
          throw py::value_error("take: a position on axis " + std::to_string(i) + " is " +
                                std::to_string(position) + " but x is " + Text(Shape(x)));
        }
      }
    }
    axes.push_back(std::move(axis));
  }
  if (y.size() == 0) return {};
  if (!y.writeable()) throw py::value_error("take: y is read-only");
  auto copy = std::make_shared<TableCopy>(
      static_cast<const char*>(x.data()), static_cast<char*>(y.mutable_data()),
      fill ? static_cast<const char*>(fill->data()) : nullptr, std::move(axes), item);
  return {[copy] { copy->Run(); }, py::make_tuple(x, y, fill)};
}

template <class I>
Launch BindGather(const py::array& x, const Array<I>& indices, py::array& y) {
  constexpr const char* kOp = "gather";
  RequireContiguous(kOp, "x", x);
  RequireContiguous(kOp, "y", y);
  const Size item = ItemSize(kOp, x, y);
  if (x.ndim() != 3 || indices.ndim() != 1) {
    throw py::value_error("gather: x and indices must have 3 and 1 axes");
  }
  const Size outer = x.shape(0), length = x.shape(1), bytes = x.shape(2) * item;
  const Size count = indices.size();
  RequireShape(kOp, "y", y, {outer, count, x.shape(2)});
  if (y.size() == 0) return {};
  if (!y.writeable()) throw py::value_error("gather: y is read-only");
  const char* from = static_cast<const char*>(x.data());
  char* to = static_cast<char*>(y.mutable_data());
  const I* at = ReadPointer(kOp, "indices", indices);
  return {[=] { Gather(from, at, to, outer, length, count, bytes); },
          py::make_tuple(x, indices, y)};
}

template <class I>
Launch BindGatherElements(const py::array& x, const Array<I>& indices, py::array& y) {
  constexpr const char* kOp = "gather_elements";
  RequireContiguous(kOp, "x", x);
  RequireContiguous(kOp, "y", y);
  const Size item = ItemSize(kOp, x, y);
  if (x.ndim() != 3) throw py::value_error("gather_elements: x must have 3 axes");
  const Size outer = x.shape(0), length = x.shape(1), inner = x.shape(2);
  RequireShape(kOp, "y", y, {outer, y.ndim() > 1 ? y.shape(1) : 0, inner});
  RequireShape(kOp, "indices", indices, Shape(y));
  const Size count = y.shape(1);
  if (y.size() == 0) return {};
  if (!y.writeable()) throw py::value_error("gather_elements: y is read-only");
  const char* from = static_cast<const char*>(x.data());
  char* to = static_cast<char*>(y.mutable_data());
  const I* at = ReadPointer(kOp, "indices", indices);
  return {[=] { GatherElements(from, at, to, outer, length, count, inner, item); },
          py::make_tuple(x, indices, y)};
}

template <class I>
Launch BindGatherNd(const py::array& x, const Array<I>& indices, py::array& y) {
  constexpr const char* kOp = "gather_nd";
  RequireContiguous(kOp, "x", x);
  RequireContiguous(kOp, "y", y);
  const Size item = ItemSize(kOp, x, y);
  const Dims shape = Shape(x);
  if (indices.ndim() != 3 || x.ndim() != indices.shape(2) + 2) {
    throw py::value_error("gather_nd: x is " + Text(shape) + " but indices are " +
                          Text(Shape(indices)) + "; x must have two axes more than these name");
  }
  const Size outer = shape.front(), count = indices.shape(1), bytes = shape.back() * item;
  RequireShape(kOp, "indices", indices, {outer, count, indices.shape(2)});
  RequireShape(kOp, "y", y, {outer, count, shape.back()});
  if (y.size() == 0) return {};
  if (!y.writeable()) throw py::value_error("gather_nd: y is read-only");
  const std::vector<Size> lengths(shape.begin() + 1, shape.end() - 1);
  const char* from = static_cast<const char*>(x.data());
  char* to = static_cast<char*>(y.mutable_data());
  const I* at = ReadPointer(kOp, "indices", indices);
  return {[=] { GatherNd(from, at, to, outer, count, lengths, bytes); },
          py::make_tuple(x, indices, y)};
}

template <class I>
void DefineGathers(py::module_& m) {
  m.def("gather", &BindGather<I>, py::arg("x").noconvert(), py::arg("indices").noconvert(),
        py::arg("y").noconvert());
  m.def("gather_elements", &BindGatherElements<I>, py::arg("x").noconvert(),
        py::arg("indices").noconvert(), py::arg("y").noconvert());
  m.def("gather_nd", &BindGatherNd<I>, py::arg("x").noconvert(), py::arg("indices").noconvert(),
        py::arg("y").noconvert());
}

}  // namespace

void RegisterCopy(py::module_& m) {
  DefineGathers<std::int32_t>(m);
  DefineGathers<std::int64_t>(m);
  m.def("copy", &BindCopy, py::arg("parts"), py::arg("y"));
  m.def("take", &BindTake, py::arg("x"), py::arg("y"), py::arg("tables"), py::arg("fill"));
}

}  // namespace headrace::cpu::bind
