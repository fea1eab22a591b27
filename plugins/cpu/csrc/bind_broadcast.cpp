// Elementwise ops of tensors whose shapes may be unequal.
#include "bind_common.h"
#include "kernels/elementwise/broadcast.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/where.h"

namespace headrace::cpu::bind {
namespace {

// The shape of a and b together; an axis of length 1 repeats.
Dims CommonShape(const std::string& op, const Dims& a, const Dims& b) {
  Dims common(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 1; i <= common.size(); ++i) {
    const std::int64_t left = i <= a.size() ? a[a.size() - i] : 1;
    const std::int64_t right = i <= b.size() ? b[b.size() - i] : 1;
    if (left != right && left != 1 && right != 1) {
      throw py::value_error(op + ": shapes " + Text(a) + " and " + Text(b) + " do not fit");
    }
    common[common.size() - i] = left == 1 ? right : left;
  }
  return common;
}

template <class T, class Y>
Launch BindBinary(const std::string& op, const Array<T>& a, const Array<T>& b, Array<Y>& y) {
  const BinaryLoops<T, Y>& loops = Elementwise();
  const BinaryLoop<T, Y> loop = loops.binary(op.c_str());
  if (loop == nullptr) {
    throw py::value_error("there is no elementwise kernel of this dtype for op '" + op + "'");
  }
  RequireShape(op.c_str(), "y", y, CommonShape(op, Shape(a), Shape(b)));
  if (y.size() == 0) return {};
  const T* left = ReadPointer(op.c_str(), "a", a);
  const T* right = ReadPointer(op.c_str(), "b", b);
  Y* to = WritePointer(op.c_str(), "y", y);
  const Broadcast<2> walk({Shape(a), Shape(b)}, Shape(y));
  return {[=] {
            walk.ForEach(PartElements(sizeof(T)), [&](const auto& at, Size made, Size count) {
              loop(left + at[0], walk.steps()[0], right + at[1], walk.steps()[1], to + made, count);
            });
          },
          py::make_tuple(a, b, y)};
}

// The first of an array of elements of `item` bytes.
const char* Elements(const char* op, const char* name, const AnyArray& array, Size item) {
  RequireContiguous(op, name, array);
  RequireAligned(op, name, array.data(), static_cast<std::size_t>(item));
  return static_cast<const char*>(array.data());
}

Launch BindWhere(const Array<bool>& condition, const AnyArray& a, const AnyArray& b, AnyArray& y) {
  constexpr const char* kOp = "where";
  const Size item = ItemSize(kOp, a, y);
  if (ItemSize(kOp, b, y) != item || a.dtype_name() != b.dtype_name()) {
    throw py::value_error("where: a is of " + a.dtype_name() + " and b of " + b.dtype_name());
  }
  const WhereLoop loop = Wheres().loop(item);
  if (loop == nullptr) {
    throw py::value_error("where: elements of " + a.dtype_name() + " have " + std::to_string(item) +
                          " bytes; they must have 1, 2, 4 or 8");
  }
  const Dims shape = CommonShape(kOp, CommonShape(kOp, Shape(condition), Shape(a)), Shape(b));
  RequireShape(kOp, "y", y, shape);
  RequireWriteable(kOp, "y", y);
  const bool* chosen = ReadPointer(kOp, "condition", condition);
  const char *left = Elements(kOp, "a", a, item), *right = Elements(kOp, "b", b, item);
  Elements(kOp, "y", y, item);
  if (y.size() == 0) return {};
  auto* to = static_cast<char*>(y.mutable_data());
  const Broadcast<3> walk({Shape(condition), Shape(a), Shape(b)}, shape);
  const WhereSteps steps{walk.steps()[0], walk.steps()[1], walk.steps()[2]};
  return {[=] {
            walk.ForEach(PartElements(item), [&](const auto& at, Size made, Size count) {
              loop(chosen + at[0], left + at[1] * item, right + at[2] * item, to + made * item,
                   count, steps);
            });
          },
          py::make_tuple(condition, a, b, y)};
}

template <class T, class Y = T>
void RegisterBinary(py::module_& m) {
  m.def("binary", &BindBinary<T, Y>, py::arg("op"), py::arg("a"), py::arg("b"), py::arg("y"));
}

}  // namespace

void RegisterBroadcast(py::module_& m) {
  RegisterBinary<double>(m);
  RegisterBinary<std::int32_t>(m);
  RegisterBinary<std::int64_t>(m);
  RegisterBinary<std::int8_t>(m);
  RegisterBinary<std::uint8_t>(m);
  RegisterBinary<float>(m);
  RegisterBinary<double, bool>(m);
  RegisterBinary<std::int32_t, bool>(m);
  RegisterBinary<std::int64_t, bool>(m);
  RegisterBinary<bool>(m);
  m.def("where", &BindWhere, py::arg("condition"), py::arg("a"), py::arg("b"), py::arg("y"));
}

}  // namespace headrace::cpu::bind
