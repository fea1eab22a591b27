// The one lock of the stand-in. Whatever several threads share is read and written under it; only
// the arithmetic and the copying of tasks run outside.
#pragma once

#include <condition_variable>
#include <mutex>

namespace mlusim {

struct State {
  std::mutex mutex;
  // Notified whenever a task ends, a queue gets one, or a pause ends.
  std::condition_variable changed;
};

// Never destroyed, so that a worker or an exit handler may still use it while the process ends.
State& TheState();

using Lock = std::unique_lock<std::mutex>;
inline Lock Guard() { return Lock(TheState().mutex); }

}  // namespace mlusim
