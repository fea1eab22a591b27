// Native work, while other threads run Python.
#pragma once

#include <pybind11/pybind11.h>

#if defined(__GLIBCXX__)
#include <unistd.h>
#endif

namespace headrace::cpu::bind {

// Gives the GIL up for its scope.
//
// A daemon thread may come back when the interpreter has ended, and must run no more Python then.
// CPython up to 3.13 ends such a thread by pthread_exit, which unwinds its stack like an exception
// that nobody may stop: it aborts the process at the first destructor, which is that of pybind11's
// own guard, and would drop references on its way without the GIL. From 3.14 on CPython lets the
// thread hang. So does this, everywhere: whoever ends the interpreter is about to end the process.
class WithoutPython {
 public:
  WithoutPython() : state_(PyEval_SaveThread()) {}
  WithoutPython(const WithoutPython&) = delete;
  WithoutPython& operator=(const WithoutPython&) = delete;

  ~WithoutPython() {
#if defined(__GLIBCXX__)
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {  // by its name, abi::__forced_unwind, it would be a reference to nothing
      for (;;) pause();
    }
#else  // elsewhere pthread_exit does not unwind
    PyEval_RestoreThread(state_);
#endif
  }

 private:
  PyThreadState* state_;
};

}  // namespace headrace::cpu::bind
