// How a function of the library gets its name; the status is of `cnnlStatus_t`.
#pragma once

#include "../core/call.h"
#include "types.h"

#define MLUSIM_CNNL(name, parameters, ...)                                          \
  MLUSIM_EXPORT int name parameters {                                               \
    return mlusim::network::StatusOf(mlusim::Outcome(#name, [&] { __VA_ARGS__; })); \
  }

namespace mlusim::network {

enum Status {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 2,
  kBadParam = 3,
  kInternalError = 4,
  kArchMismatch = 5,
  kExecutionFailed = 6,
  kNotSupported = 7,
  kNumericalOverflow = 8,
};

inline Status StatusOf(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return kSuccess;
    case Fault::kNotInitialized:
      return kNotInitialized;
    case Fault::kNoMemory:
    case Fault::kNoHostMemory:
      return kAllocFailed;
    case Fault::kInvalidArgument:
    case Fault::kWrongDevice:
    case Fault::kCopyDirection:
      return kBadParam;
    case Fault::kNotSupported:
      return kNotSupported;
    case Fault::kQueueFailed:
      return kExecutionFailed;
    case Fault::kArchitecture:
      return kArchMismatch;
    default:
      return kInternalError;
  }
}

}  // namespace mlusim::network
