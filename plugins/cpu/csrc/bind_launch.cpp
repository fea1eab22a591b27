#include <pybind11/stl.h>

#include "launch.h"

namespace headrace::cpu::bind {

void RegisterLaunch(py::module_& m) {
  py::class_<Launch, std::shared_ptr<Launch>>(m, "Launch",
                                              "Work whose arguments are fixed; call it to do it.")
      .def("__call__", &Launch::operator());
  py::class_<Sequence, Launch, std::shared_ptr<Sequence>>(m, "Sequence",
                                                          "Launches, one after another, as one.")
      .def(py::init<std::vector<std::shared_ptr<Launch>>>(), py::arg("launches"));
}

}  // namespace headrace::cpu::bind
