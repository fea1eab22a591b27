// Launches: work whose arguments are checked and fixed, to be done again and again.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/machine/own_processor.h"
#include "numpy_array.h"
#include "without_python.h"

namespace headrace::cpu::bind {

// Work on fewer bytes than this keeps the GIL: it is over in microseconds. Of threads that call one
// model, one would else wait for the GIL with the model's lock in its hands, and all others for it.
inline constexpr py::ssize_t kWorthTheGil = 16 << 10;

// What every function of the extension returns: calling it does the work, without the GIL unless
// it is short. It keeps the arrays alive that the work reads and writes.
class Launch {
 public:
  // Nothing to do.
  Launch() = default;
  Launch(std::function<void()> work, py::tuple arrays)
      : work_(std::move(work)), arrays_(std::move(arrays)) {
    for (const py::handle array : arrays_) {
      if (py::isinstance<AnyArray>(array))
        nbytes_ += py::reinterpret_borrow<AnyArray>(array).nbytes();
    }
  }

  // Safe without the GIL.
  void Run() const {
    if (work_) work_();
  }

  void operator()() const {
    if (nbytes_ < kWorthTheGil) return Run();
    const WithoutPython others_run;
    const OwnProcessor own;
    Run();
  }

  // How much memory it works on.
  py::ssize_t nbytes() const { return nbytes_; }

 protected:
  // Of launches that keep their arrays alive themselves.
  Launch(std::function<void()> work, py::ssize_t nbytes)
      : work_(std::move(work)), nbytes_(nbytes) {}

 private:
  std::function<void()> work_;
  py::tuple arrays_;
  py::ssize_t nbytes_ = 0;
};

// What a launch of a sequence threw, and which one it was: `headrace.errors.LaunchError` to Python.
struct SequenceError {
  std::size_t index;
  std::exception_ptr cause;
};

// Launches one after another, as one. Throws SequenceError when one of them fails.
class Sequence : public Launch {
 public:
  explicit Sequence(std::vector<std::shared_ptr<Launch>> launches)
      : Launch(
            [launches] {
              std::size_t index = 0;
              try {
                for (; index < launches.size(); ++index) {
                  OwnProcessor::Renew(launches[index]->nbytes());
                  launches[index]->Run();
                }
              } catch (...) {
                throw SequenceError{index, std::current_exception()};
              }
            },
            Sum(launches)) {}

 private:
  static py::ssize_t Sum(const std::vector<std::shared_ptr<Launch>>& launches) {
    py::ssize_t nbytes = 0;
    for (const auto& launch : launches) nbytes += launch->nbytes();
    return nbytes;
  }
};

void RegisterLaunch(py::module_& m);

}  // namespace headrace::cpu::bind
