#include "bind_common.h"
#include "kernels/erf.h"

namespace headrace::cpu::bind {
namespace {

template <class T>
void BindErf(const Array<T>& x, Array<T>& y) {
  RequireShape("erf", "y", y, Shape(x));
  const T* from = ReadPointer("erf", "x", x);
  T* to = WritePointer("erf", "y", y);
  const Size count = x.size();
  py::gil_scoped_release no_python_below;
  Erf(from, to, count);
}

template <class T>
void RegisterErfFor(py::module_& m) {
  m.def("erf", &BindErf<T>, py::arg("x").noconvert(), py::arg("y").noconvert(),
        "y[i] = erf(x[i]), within 2 units in the last place.\n\n"
        "x, y: T[...] of one shape; may be the same array. T is float32 or float64.");
}

}  // namespace

void RegisterElementwise(py::module_& m) {
  RegisterErfFor<float>(m);
  RegisterErfFor<double>(m);
}

}  // namespace headrace::cpu::bind
