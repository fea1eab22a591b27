// How the kernels run: the threads of the pool, and the instruction set.
#include "bind_common.h"
#include "kernels/machine/isa.h"
#include "kernels/machine/isas_here.h"
#include "kernels/machine/setting.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu::bind {
namespace {

// For tests of the pool.
void CallInParts(Size count, Size grain, const py::function& body) {
  if (grain < 1) throw py::value_error("parallel_for: grain must be at least 1");
  const WithoutPython others_run;
  ParallelFor(count, grain, [&](Size begin, Size end) {
    py::gil_scoped_acquire python;
    body(begin, end);
  });
}

// As headrace has it, so that the command says it in one line and a user may catch it.
void RaiseSettingError(const SettingError& error) {
  const py::object type = py::module_::import("headrace.errors").attr("SettingError");
  const py::object raised = type(error.variable, error.value, error.allowed);
  PyErr_SetObject(type.ptr(), raised.ptr());
}

}  // namespace

void RegisterThreads(py::module_& m) {
  py::register_local_exception_translator([](std::exception_ptr pending) {
    try {
      if (pending) std::rethrow_exception(pending);
    } catch (const SettingError& error) {
      RaiseSettingError(error);
    }
  });
  m.def("threads", &Threads);
  m.def("set_threads", &SetThreads, py::arg("count"), py::call_guard<WithoutPython>());
  m.def("isa", [] { return IsaName(ActiveIsa()); });
  m.def("isas", &IsasHere);
  m.def("parallel_for", &CallInParts, py::arg("count"), py::arg("grain"), py::arg("body"));
  py::module_::import("atexit").attr("register")(py::cpp_function([] {
    const WithoutPython others_finish;
    StopThreads();
  }));
}

}  // namespace headrace::cpu::bind
