// Launches: work whose arguments are checked and fixed, to be done again and again.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "without_python.h"

namespace headrace::cpu::bind {

namespace py = pybind11;

// What every function of the extension returns: calling it does the work, without the GIL. It keeps
// the arrays alive that the work reads and writes.
class Launch {
 public:
  // Nothing to do.
  Launch() = default;
  Launch(std::function<void()> work, py::tuple arrays)
      : work_(std::move(work)), arrays_(std::move(arrays)) {}

  // Safe without the GIL.
  void Run() const {
    if (work_) work_();
  }

  void operator()() const {
    const WithoutPython others_run;
    Run();
  }

 private:
  std::function<void()> work_;
  py::tuple arrays_;
};

// Launches one after another, as one.
class Sequence : public Launch {
 public:
  explicit Sequence(std::vector<std::shared_ptr<Launch>> launches)
      : Launch(
            [launches = std::move(launches)] {
              for (const auto& launch : launches) launch->Run();
            },
            py::tuple()) {}
};

void RegisterLaunch(py::module_& m);

}  // namespace headrace::cpu::bind
