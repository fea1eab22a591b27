// What every exported function of the vendor goes through.
#pragma once

#include <new>
#include <system_error>
#include <utility>

#include "inject.h"
#include "report.h"

// Only functions of C are exported by the two upper libraries, and only those that exports.txt
// names.
#define MLUSIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace mlusim {

// The pointer of an argument that may not be NULL.
template <typename T>
T* Needed(T* pointer, const char* what) {
  if (!pointer) throw Misuse("null-pointer", Fault::kInvalidArgument, Text(what, " is NULL"));
  return pointer;
}

// Before cnrtInit in the era that has it, after a fork, or inside a function of cnrtInvokeHostFunc:
// throws. Under no lock.
void CheckCallAllowed();
void SetInitialized(bool initialized);  // era 4
// While a host function runs on a worker, calls are misuse.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
};

int LastError();
void SetLastError(int code);

// Runs the body and turns what it throws or complains about into a code of the era. Reports misuse.
int Finish(Fault fault);
Fault Strict(Fault pending);

template <typename Body>
Fault Outcome(const char* name, Body&& body) {
  CallScope scope(name);
  try {
    CheckCallAllowed();
    const Fault injected = NextInjected(Stage::kCall, name);
    if (injected != Fault::kNone) return injected;
    std::forward<Body>(body)();
  } catch (const Misuse& misuse) {
    Report(name, misuse.kind, misuse.what());
    return misuse.fault;
  } catch (const Failure& failure) {
    return failure.fault;
  } catch (const std::bad_alloc&) {
    return Fault::kNoHostMemory;
  } catch (const std::system_error&) {
    return Fault::kSystem;  // no further thread
  }
  return Strict(scope.Pending());
}

template <typename Body>
int RuntimeCall(const char* name, Body&& body) {
  return Finish(Outcome(name, std::forward<Body>(body)));
}

}  // namespace mlusim
