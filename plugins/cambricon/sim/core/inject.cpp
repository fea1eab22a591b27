#include "inject.h"

#include <map>
#include <mutex>

namespace mlusim {
namespace {

struct Planned {
  std::uint64_t left;
  Fault fault;
};

struct Plans {
  std::mutex mutex;
  std::map<std::string, Planned> by_call;
};

Plans& ThePlans() {
  static Plans& plans = *new Plans;
  return plans;
}

}  // namespace

void Inject(const std::string& call, std::uint64_t nth, Fault fault) {
  Plans& plans = ThePlans();
  const std::lock_guard<std::mutex> lock(plans.mutex);
  plans.by_call[call] = {nth, fault};
}

Fault NextInjected(const char* call) {
  Plans& plans = ThePlans();
  const std::lock_guard<std::mutex> lock(plans.mutex);
  if (plans.by_call.empty()) return Fault::kNone;
  const auto found = plans.by_call.find(call);
  if (found == plans.by_call.end() || --found->second.left > 0) return Fault::kNone;
  const Fault fault = found->second.fault;
  plans.by_call.erase(found);
  return fault;
}

}  // namespace mlusim
