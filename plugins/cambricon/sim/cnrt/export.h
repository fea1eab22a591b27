// How a function of the runtime gets its name. MLUSIM_CNRT(name, (parameters), body) exports it,
// with the status, the last error and the reports that core/call.h gives.
#pragma once

#include "../core/call.h"
#include "../core/copy.h"
#include "runtime.h"

#define MLUSIM_EXPORT extern "C" __attribute__((visibility("default")))
#define MLUSIM_CNRT(name, parameters, ...)                   \
  MLUSIM_EXPORT int name parameters {                        \
    return mlusim::RuntimeCall(#name, [&] { __VA_ARGS__; }); \
  }

namespace mlusim {

template <typename T>
T* Needed(T* pointer, const char* what) {
  if (!pointer) throw Misuse("null-pointer", Fault::kInvalidArgument, Text(what, " is NULL"));
  return pointer;
}

}  // namespace mlusim
