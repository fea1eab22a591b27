// Faults that a test asks for: the n-th call of a function fails.
#pragma once

#include <cstdint>
#include <string>

#include "fault.h"

namespace mlusim {

// From now on, the `nth` call (1 is the next) of `call` fails once.
void Inject(const std::string& call, std::uint64_t nth, Fault fault);
// Counts a call; the fault that it has to end with, mostly kNone.
Fault NextInjected(const char* call);

}  // namespace mlusim
