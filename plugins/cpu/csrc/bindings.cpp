// The extension module. Bindings check arguments and release the GIL, and do no arithmetic; one
// bind_<family>.cpp for each family of kernels.
#include "bind_common.h"

PYBIND11_MODULE(_native, m) {
  m.doc() =
      "CPU kernels. Arrays are C-contiguous and never converted; outputs are given, never made.\n"
      "Sizes that do not fit raise ValueError; another dtype or layout raises TypeError. The GIL\n"
      "is released while a kernel runs, and no kernel keeps state between calls.";
  headrace::cpu::bind::RegisterConv(m);
  headrace::cpu::bind::RegisterPool(m);
  headrace::cpu::bind::RegisterNorm(m);
  headrace::cpu::bind::RegisterElementwise(m);
}
