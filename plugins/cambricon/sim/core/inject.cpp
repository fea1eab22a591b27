#include "inject.h"

#include <map>
#include <mutex>
#include <utility>

namespace mlusim {
namespace {

struct Planned {
  std::uint64_t left;
  Fault fault;
};

struct Plans {
  std::mutex mutex;
  std::map<std::pair<Stage, std::string>, Planned> planned;
};

Plans& ThePlans() {
  static Plans& plans = *new Plans;
  return plans;
}

}  // namespace

void Inject(Stage stage, const std::string& call, std::uint64_t nth, Fault fault) {
  Plans& plans = ThePlans();
  const std::lock_guard<std::mutex> lock(plans.mutex);
  plans.planned[{stage, call}] = {nth, fault};
}

Fault NextInjected(Stage stage, const char* call) {
  Plans& plans = ThePlans();
  const std::lock_guard<std::mutex> lock(plans.mutex);
  if (plans.planned.empty()) return Fault::kNone;
  const auto found = plans.planned.find({stage, call});
  if (found == plans.planned.end() || --found->second.left > 0) return Fault::kNone;
  const Fault fault = found->second.fault;
  plans.planned.erase(found);
  return fault;
}

}  // namespace mlusim
