#include <pybind11/stl.h>

#include "launch.h"

namespace headrace::cpu::bind {

void RegisterLaunch(py::module_& m) {
  py::class_<Launch, std::shared_ptr<Launch>>(m, "Launch",
                                              "Work whose arguments are fixed; call it to do it.")
      .def("__call__", &Launch::operator());
  py::class_<Sequence>(m, "Sequence", "Launches, done one after another in one call.")
      .def(py::init<std::vector<std::shared_ptr<Launch>>>(), py::arg("launches"))
      .def("__call__", &Sequence::operator());
}

}  // namespace headrace::cpu::bind
