// Which instruction sets kernels can run on here. Apart from isa.h, so that what is compiled for
// one of them does not meet the standard library.
#pragma once

#include <string>
#include <vector>

namespace headrace::cpu {

// Names of all that this machine has, whatever HEADRACE_CPU_ISA says, oldest first.
std::vector<std::string> IsasHere();

}  // namespace headrace::cpu
