// Faults that a test asks for: the n-th call of a function fails.
#pragma once

#include <cstdint>
#include <string>

#include "fault.h"

namespace mlusim {

// A call, or the task that it enqueues.
enum class Stage { kCall, kTask };

// From now on, the `nth` call (1 is the next) of `call` fails once.
void Inject(Stage stage, const std::string& call, std::uint64_t nth, Fault fault);
// Counts one; the fault that it has to end with, mostly kNone.
Fault NextInjected(Stage stage, const char* call);

}  // namespace mlusim
