#include "own_processor.h"

#if defined(__linux__)

#include <sched.h>

#include <array>
#include <atomic>

#include "processor.h"

namespace headrace::cpu {
namespace {

// How many scopes have a processor.
std::array<std::atomic<int>, CPU_SETSIZE> takers{};

thread_local OwnProcessor* scope = nullptr;

// Whose scope began last: the address of its `scope`, which tells threads apart.
std::atomic<OwnProcessor**> last_begun{nullptr};

// A processor that nobody has and the caller may use, with the caller on it; else -1.
int MoveToFree() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    int nobody = 0;
    if (!CPU_ISSET(i, &allowed) || !takers[i].compare_exchange_strong(nobody, 1)) continue;
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET(i, &there);
    if (sched_setaffinity(0, sizeof there, &there) == 0) {
      sched_setaffinity(0, sizeof allowed, &allowed);
      return i;
    }
    takers[i].fetch_sub(1);
  }
  return -1;
}

bool IsCounted(int processor) { return processor >= 0 && processor < CPU_SETSIZE; }

}  // namespace

// A thread that waits for this processor may be about to begin a scope, and can only move when it
// runs: it is let before, once, and by nobody who is alone in launching.
OwnProcessor::OwnProcessor() {
  const int here = CurrentProcessor();
  if (!IsCounted(here)) return;
  scope = this;
  Settle(here);
  if (last_begun.exchange(&scope) != &scope) sched_yield();
}

OwnProcessor::~OwnProcessor() {
  if (taken_ >= 0) takers[taken_].fetch_sub(1);
  scope = nullptr;
}

void OwnProcessor::Renew() {
  if (!scope) return;
  const int here = CurrentProcessor();
  const bool moved = here != scope->taken_;
  if (!IsCounted(here) || (!moved && (scope->crowded_ || takers[here].load() == 1))) return;
  scope->Settle(here);
}

void OwnProcessor::Settle(int here) {
  const int before = taken_;
  const int others = takers[here].load() - (here == before ? 1 : 0);
  taken_ = others > 0 && !crowded_ ? MoveToFree() : -1;
  if (taken_ < 0) {
    crowded_ = others > 0;
    taken_ = here;
    takers[here].fetch_add(1);
  }
  if (before >= 0) takers[before].fetch_sub(1);
}

}  // namespace headrace::cpu

#else

namespace headrace::cpu {

OwnProcessor::OwnProcessor() = default;

OwnProcessor::~OwnProcessor() = default;

void OwnProcessor::Renew() {}

void OwnProcessor::Settle(int) {}

}  // namespace headrace::cpu

#endif
