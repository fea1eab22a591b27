// Misuse, said out loud: a log that can be read back, stderr, and the status of the call.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "fault.h"

namespace mlusim {

// The vendor function that this thread is in; reports begin with it. A worker sets the function
// that enqueued the task.
class CallScope {
 public:
  explicit CallScope(const char* name);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  static const char* Name();
  // The worst that Complain() said since the scope began, kNone if nothing.
  Fault Pending() const { return pending_; }

 private:
  friend void Complain(const char* kind, Fault fault, const std::string& message);
  const char* name_;
  Fault pending_ = Fault::kNone;
  CallScope* outer_;
};

// An honest failure of a call that was used correctly, for instance memory that is exhausted.
struct Failure : std::runtime_error {
  Failure(Fault fault, const std::string& message) : std::runtime_error(message), fault(fault) {}
  Fault fault;
};

// A call that cannot be carried out as it was made. It is reported where the call ends.
struct Misuse : Failure {
  Misuse(const char* kind, Fault fault, const std::string& message)
      : Failure(fault, message), kind(kind) {}
  const char* kind;
};

// Reports misuse of a call that goes on nevertheless, as it would on a card; its status is `fault`
// when the mode is strict.
void Complain(const char* kind, Fault fault, const std::string& message);

// Misuse that a card would carry out with a result that depends on luck. Refused when the mode is
// strict, so that every run ends the same way; else reported and carried out.
void Refuse(const char* kind, Fault fault, const std::string& message);

// One line of the log: `call: [kind] message`.
void Report(const char* call, const std::string& kind, const std::string& message);

std::vector<std::string> Reports();
void ClearReports();

// Text from parts, as a stream would write them.
template <typename... Parts>
std::string Text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace mlusim
