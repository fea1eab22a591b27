#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>

#include "call.h"
#include "enums.h"
#include "inject.h"
#include "leaks.h"
#include "memory.h"
#include "mlusim.h"
#include "object.h"
#include "queue.h"
#include "report.h"
#include "state.h"

namespace mlusim {
namespace {

struct Enums {
  std::mutex mutex;
  std::unordered_map<std::string, int> values;
};

Enums& TheEnums() {
  static Enums& enums = *new Enums;
  return enums;
}

int SetPaused(void* value, bool paused) {
  const Lock lock = Guard();
  for (const std::shared_ptr<Queue>& queue : AllQueues()) {
    if (queue->value != value || queue->destroyed) continue;
    queue->Pause(paused);
    return 0;
  }
  return -1;
}

}  // namespace

void PublishEnum(const std::string& name, int value) {
  const std::lock_guard<std::mutex> lock(TheEnums().mutex);
  TheEnums().values[name] = value;
}

}  // namespace mlusim

using namespace mlusim;

MLUSIM_EXPORT int mlusim_era(void) { return kEra; }

MLUSIM_EXPORT int mlusim_enum(const char* name, int* value) {
  const std::lock_guard<std::mutex> lock(TheEnums().mutex);
  const auto found = TheEnums().values.find(name);
  if (found == TheEnums().values.end()) return -1;
  *value = found->second;
  return 0;
}

MLUSIM_EXPORT size_t mlusim_report_count(void) { return Reports().size(); }

MLUSIM_EXPORT long mlusim_report(size_t index, char* buffer, size_t capacity) {
  const std::vector<std::string> reports = Reports();
  if (index >= reports.size()) return -1;
  std::snprintf(buffer, capacity, "%s", reports[index].c_str());
  return static_cast<long>(reports[index].size());
}

MLUSIM_EXPORT void mlusim_clear_reports(void) { ClearReports(); }

MLUSIM_EXPORT size_t mlusim_live(const char* kind) {
  const Lock lock = Guard();
  if (std::strcmp(kind, "card memory") == 0) return LiveBlocks(false).blocks;
  if (std::strcmp(kind, "page-locked memory") == 0) return LiveBlocks(true).blocks;
  const std::map<std::string, std::size_t> live = LiveObjects();
  const auto found = live.find(kind);
  return found == live.end() ? 0 : found->second;
}

MLUSIM_EXPORT size_t mlusim_check_leaks(void) {
  std::vector<std::string> leaks;
  {
    const Lock lock = Guard();
    leaks = Leaks();
  }
  for (const std::string& leak : leaks) Report("exit", "leak", leak);
  return leaks.size();
}

MLUSIM_EXPORT int mlusim_pause(void* queue) { return SetPaused(queue, true); }
MLUSIM_EXPORT int mlusim_resume(void* queue) { return SetPaused(queue, false); }

MLUSIM_EXPORT int mlusim_drain(void) {
  Lock lock = Guard();
  for (const std::shared_ptr<Queue>& queue : AllQueues()) queue->Drain(lock);
  return 0;
}

MLUSIM_EXPORT int mlusim_fail(const char* call, uint64_t nth, const char* fault) {
  static const std::map<std::string, Fault> faults{{"memory", Fault::kNoMemory},
                                                   {"host-memory", Fault::kNoHostMemory},
                                                   {"device", Fault::kNoDevice},
                                                   {"system", Fault::kSystem},
                                                   {"queue", Fault::kQueueFailed}};
  const auto found = faults.find(fault);
  if (found == faults.end() || nth == 0) return -1;
  Inject(Stage::kCall, call, nth, found->second);
  return 0;
}

MLUSIM_EXPORT int mlusim_fail_task(const char* call, uint64_t nth) {
  if (nth == 0) return -1;
  Inject(Stage::kTask, call, nth, Fault::kQueueFailed);
  return 0;
}
