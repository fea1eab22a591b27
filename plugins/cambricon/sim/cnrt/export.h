// How a function of the runtime gets its name. MLUSIM_CNRT(name, (parameters), body) exports it,
// with the status, the last error and the reports that core/call.h gives.
#pragma once

#include "../core/call.h"
#include "../core/copy.h"
#include "runtime.h"

#define MLUSIM_CNRT(name, parameters, ...)                   \
  MLUSIM_EXPORT int name parameters {                        \
    return mlusim::RuntimeCall(#name, [&] { __VA_ARGS__; }); \
  }
