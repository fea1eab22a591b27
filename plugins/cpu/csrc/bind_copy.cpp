// Copies: with strides, and by tables of positions. Elements are bytes here, of any dtype.
#include <algorithm>
#include <tuple>
#include <utility>

#include "bind_common.h"
#include "kernels/moves/strided_copy.h"
#include "kernels/moves/table_copy.h"

namespace headrace::cpu::bind {
namespace {

// Throws ValueError unless all that begins at `offset` and goes by `strides` lies in `array`.
void RequireInside(const char* name, const AnyArray& array, Size offset, const Dims& shape,
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

using Part = std::tuple<AnyArray, Dims, Size, Dims, Size, Dims>;

Launch BindCopy(const std::vector<Part>& parts, AnyArray& y) {
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
    RequireWriteable(kOp, "y", y);
    copies->emplace_back(static_cast<const char*>(x.data()) + from_offset * item,
                         static_cast<char*>(y.mutable_data()) + to_offset * item, axes, item);
    arrays.append(x);
  }
  arrays.append(y);
  return {[copies] {
            for (const StridedCopy& copy : *copies) copy.Run();
          },
          py::tuple(arrays)};
}

using Table = Array<std::int32_t>;

// Throws ValueError unless each position of a table is one of `length`, or -1.
void RequireInside(const std::vector<std::int32_t>& table, Size length, py::ssize_t axis,
                   const AnyArray& x) {
  const auto last = static_cast<std::int32_t>(length - 1);
  const auto is_inside = [last](std::int32_t position) {
    return position >= -1 && position <= last;
  };
  bool fits = true;  // several at a time, as a search is not
  for (const std::int32_t position : table) fits &= is_inside(position);
  if (fits) return;
  const auto wrong = std::find_if_not(table.begin(), table.end(), is_inside);
  throw py::value_error("take: a position on axis " + std::to_string(axis) + " is " +
                        std::to_string(*wrong) + " but x is " + Text(Shape(x)));
}

Launch BindTake(const AnyArray& x, AnyArray& y, const std::vector<std::optional<Table>>& tables,
                const std::optional<AnyArray>& fill) {
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
      RequireInside(axis.table, axis.length, i, x);
    }
    axes.push_back(std::move(axis));
  }
  if (y.size() == 0) return {};
  RequireWriteable(kOp, "y", y);
  auto copy = std::make_shared<TableCopy>(
      static_cast<const char*>(x.data()), static_cast<char*>(y.mutable_data()),
      fill ? static_cast<const char*>(fill->data()) : nullptr, std::move(axes), item);
  return {[copy] { copy->Run(); }, py::make_tuple(x, y, fill)};
}

}  // namespace

void RegisterCopy(py::module_& m) {
  m.def("copy", &BindCopy, py::arg("parts"), py::arg("y"));
  m.def("take", &BindTake, py::arg("x"), py::arg("y"), py::arg("tables"), py::arg("fill"));
}

}  // namespace headrace::cpu::bind
