#include "kernels/machine/isa.h"

#include <cstring>
#include <string>
#include <vector>

#include "kernels/machine/isas_here.h"
#include "kernels/machine/setting.h"

namespace headrace::cpu {
namespace {

constexpr Isa kOldestFirst[] = {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni};

Isa NewestIsa() {
#if defined(HEADRACE_X86_ISAS)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    return __builtin_cpu_supports("avx512vnni") ? Isa::kAvx512Vnni : Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c")) {
    return Isa::kAvx2;
  }
#endif
  return Isa::kBaseline;
}

Isa ChooseIsa() {
  const Isa newest = NewestIsa();
  const char* wanted = Setting("HEADRACE_CPU_ISA");
  if (wanted == nullptr) return newest;
  for (const Isa isa : kOldestFirst) {
    if (isa <= newest && std::strcmp(wanted, IsaName(isa)) == 0) return isa;
  }
  throw SettingError("HEADRACE_CPU_ISA", wanted,
                     std::string("baseline, avx2, avx512 or avx512_vnni, and no more than the ") +
                         IsaName(newest) + " of this machine");
}

}  // namespace

Isa ActiveIsa() {
  static const Isa isa = ChooseIsa();
  return isa;
}

std::vector<std::string> IsasHere() {
  std::vector<std::string> names;
  for (const Isa isa : kOldestFirst) {
    if (isa <= NewestIsa()) names.emplace_back(IsaName(isa));
  }
  return names;
}

const char* IsaName(Isa isa) {
  switch (isa) {
    case Isa::kAvx512Vnni:
      return "avx512_vnni";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx2:
      return "avx2";
    default:
      return "baseline";
  }
}

}  // namespace headrace::cpu
