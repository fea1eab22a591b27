#include "leaks.h"

#include <unistd.h>

#include <chrono>

#include "memory.h"
#include "object.h"
#include "queue.h"
#include "report.h"
#include "state.h"

namespace mlusim {
namespace {

// A child of a fork that did not use the library itself has nothing to say about its parent's
// things.
const pid_t kProcess = getpid();

}  // namespace

std::vector<std::string> Leaks() {
  std::vector<std::string> leaks;
  for (const auto& [kind, count] : LiveObjects()) {
    leaks.push_back(Text(count, " ", kind, "(s) not destroyed; the first came from ",
                         FirstLive(kind)->made_by, " (", FirstLive(kind)->Describe(), ")"));
  }
  for (const bool host : {false, true}) {
    const Live live = LiveBlocks(host);
    if (live.blocks == 0) continue;
    leaks.push_back(Text(live.blocks, " block(s) of ",
                         host ? "page-locked host memory" : "card memory", " not freed, ",
                         live.bytes, " bytes"));
  }
  return leaks;
}

void ReportLeaks() {
  if (getpid() != kProcess) return;
  Lock lock = Guard();
  for (const auto& queue : AllQueues()) {
    queue->Pause(false);
    // Not for ever: a function of the host may wait for an interpreter that is gone.
    const auto idle = [&] { return queue->Idle(); };
    if (TheState().changed.wait_for(lock, std::chrono::seconds(5), idle)) continue;
    Report("exit", "leak", Text(queue->Describe(), " still has work"));
  }
  for (const std::string& leak : Leaks()) Report("exit", "leak", leak);
}

}  // namespace mlusim
