// Running sums and products.
#include "bind_common.h"
#include "kernels/rows/cumulative.h"

namespace headrace::cpu::bind {
namespace {

template <class T>
Launch BindCumulative(const std::string& reduction, const Array<T>& x, Array<T>& y,
                      bool is_exclusive, bool is_reverse) {
  constexpr const char* kOp = "cumulative";
  if (x.ndim() != 3) throw py::value_error("cumulative: x must have 3 axes");
  RequireShape(kOp, "y", y, Shape(x));
  constexpr std::array<const char*, 2> kReductions = {"sum", "product"};
  const auto running = static_cast<Running>(IndexOf(kOp, "reduction", kReductions, reduction));
  const T* from = ReadPointer(kOp, "x", x);
  T* to = WritePointer(kOp, "y", y);
  if (y.size() == 0) return {};
  const Size outer = x.shape(0), length = x.shape(1), inner = x.shape(2);
  return {[=] { Cumulate(running, from, to, outer, length, inner, is_exclusive, is_reverse); },
          py::make_tuple(x, y)};
}

template <class T>
void Define(py::module_& m) {
  m.def("cumulative", &BindCumulative<T>, py::arg("reduction"), py::arg("x"), py::arg("y"),
        py::arg("is_exclusive"), py::arg("is_reverse"));
}

}  // namespace

void RegisterRunning(py::module_& m) {
  Define<float>(m);
  Define<double>(m);
  Define<std::int32_t>(m);
  Define<std::int64_t>(m);
}

}  // namespace headrace::cpu::bind
