#include <pybind11/stl.h>

#include <stdexcept>

#include "launch.h"

namespace headrace::cpu::bind {
namespace {

// What a kernel throws when it runs, as Python's error.
void Raise(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::out_of_range& error) {
    PyErr_SetString(PyExc_IndexError, error.what());
  } catch (const std::bad_alloc& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

// As the contract has it, so that the op is named.
void RaiseLaunchError(const SequenceError& failed) {
  Raise(failed.cause);
  const py::error_already_set cause;
  const py::object type = py::module_::import("headrace.errors").attr("LaunchError");
  const py::object raised = type(failed.index);
  PyException_SetCause(raised.ptr(), py::object(cause.value()).release().ptr());
  PyErr_SetObject(type.ptr(), raised.ptr());
}

}  // namespace

void RegisterLaunch(py::module_& m) {
  py::register_local_exception_translator([](std::exception_ptr pending) {
    try {
      if (pending) std::rethrow_exception(pending);
    } catch (const SequenceError& failed) {
      RaiseLaunchError(failed);
    }
  });
  py::class_<Launch, std::shared_ptr<Launch>>(m, "Launch",
                                              "Work whose arguments are fixed; call it to do it.")
      .def("__call__", &Launch::operator());
  py::class_<Sequence, Launch, std::shared_ptr<Sequence>>(m, "Sequence",
                                                          "Launches, one after another, as one.")
      .def(py::init<std::vector<std::shared_ptr<Launch>>>(), py::arg("launches"));
}

}  // namespace headrace::cpu::bind
