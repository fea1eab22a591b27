// What a status of the vendor means. The numbers of CNRT have three meanings, one for each era.
#pragma once

#include <stdexcept>
#include <string>

namespace headrace::cambricon {

enum class Kind { kSuccess, kPending, kOutOfMemory, kNoDevice, kUnsupported, kOther };

struct Meaning {
  std::string name;
  Kind kind;
};

Meaning RuntimeMeaning(int era, int status);
Meaning NetworkMeaning(int status);

// A call that failed. `part` is which launch of a sequence it belongs to, or -1.
class CallError : public std::runtime_error {
 public:
  CallError(const std::string& message, std::string call, int status, Kind kind)
      : std::runtime_error(message), call(std::move(call)), status(status), kind(kind) {}

  std::string call;
  int status;
  Kind kind;
  int part = -1;
};

// The libraries cannot be used: says which file, and what of it.
class LoadError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace headrace::cambricon
