// The extension module. Bindings check arguments and make launches, and do no arithmetic; one
// bind_<family>.cpp for each family of kernels.
#include "bind_common.h"

PYBIND11_MODULE(_native, m) {
  m.doc() =
      "CPU kernels. A function checks its arguments and returns the launch that does the work on\n"
      "them. Arrays are C-contiguous and never converted; outputs are given, never made. Sizes\n"
      "that do not fit raise ValueError; another dtype or layout raises TypeError. The GIL is\n"
      "released while a launch runs, unless that works on a few kilobytes only. No kernel keeps\n"
      "state between calls.";
  headrace::cpu::bind::RequireNumpy();
  headrace::cpu::bind::RegisterLaunch(m);
  headrace::cpu::bind::RegisterThreads(m);
  headrace::cpu::bind::RegisterWindow(m);
  headrace::cpu::bind::RegisterEpilogue(m);
  headrace::cpu::bind::RegisterConv(m);
  headrace::cpu::bind::RegisterPool(m);
  headrace::cpu::bind::RegisterNorm(m);
  headrace::cpu::bind::RegisterElementwise(m);
  headrace::cpu::bind::RegisterBroadcast(m);
  headrace::cpu::bind::RegisterGemm(m);
  headrace::cpu::bind::RegisterBlockGemm(m);
  headrace::cpu::bind::RegisterBytes(m);
  headrace::cpu::bind::RegisterInteger(m);
  headrace::cpu::bind::RegisterByteBatch(m);
  headrace::cpu::bind::RegisterProgram(m);
  headrace::cpu::bind::RegisterBatchMatmul(m);
  headrace::cpu::bind::RegisterRows(m);
  headrace::cpu::bind::RegisterAttention(m);
  headrace::cpu::bind::RegisterCache(m);
  headrace::cpu::bind::RegisterRecurrent(m);
  headrace::cpu::bind::RegisterImage(m);
  headrace::cpu::bind::RegisterCopy(m);
  headrace::cpu::bind::RegisterGather(m);
  headrace::cpu::bind::RegisterLearners(m);
  headrace::cpu::bind::RegisterDetection(m);
  headrace::cpu::bind::RegisterRunning(m);
  headrace::cpu::bind::RegisterSampling(m);
  headrace::cpu::bind::RegisterScatter(m);
  headrace::cpu::bind::RegisterSpectrum(m);
  headrace::cpu::bind::RegisterRanking(m);
}
