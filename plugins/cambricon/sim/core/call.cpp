#include "call.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>

#include "leaks.h"
#include "settings.h"

namespace mlusim {
namespace {

std::atomic<bool> initialized{false};
std::atomic<bool> used{false};
std::atomic<bool> forked{false};
thread_local bool in_host_function = false;
thread_local int last_error = 0;

void NoteFork() {
  if (used) forked = true;
}

struct Registration {
  Registration() {
    pthread_atfork(nullptr, nullptr, NoteFork);
    std::atexit(ReportLeaks);
  }
};

}  // namespace

void CheckCallAllowed() {
  static const Registration registration;
  if (forked) {
    throw Misuse("fork", Fault::kSystem,
                 "this process was forked from one that used the library; start a new one instead");
  }
  if (in_host_function) {
    throw Misuse("call-in-host-function", Fault::kNotSupported,
                 "a function given to cnrtInvokeHostFunc may not call the runtime");
  }
  used = true;
  if (kEra == 4 && !initialized) {
    throw Misuse("not-initialized", Fault::kNotInitialized, "cnrtInit has to be called first");
  }
}

void SetInitialized(bool value) { initialized = value; }

HostFunctionScope::HostFunctionScope() { in_host_function = true; }
HostFunctionScope::~HostFunctionScope() { in_host_function = false; }

int LastError() { return last_error; }
void SetLastError(int code) { last_error = code; }

int Finish(Fault fault) {
  const int code = CodeOf(fault);
  if (code != 0) last_error = code;
  return code;
}

Fault Strict(Fault pending) { return TheSettings().strict ? pending : Fault::kNone; }

}  // namespace mlusim
