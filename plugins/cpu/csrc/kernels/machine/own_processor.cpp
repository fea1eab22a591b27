#include "kernels/machine/own_processor.h"

#if defined(__linux__)

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <mutex>
#include <vector>

#include "kernels/machine/processor.h"

namespace headrace::cpu {
namespace {

// How many scopes have a processor.
std::array<std::atomic<int>, CPU_SETSIZE> takers{};

thread_local OwnProcessor* scope = nullptr;

// Held by whoever moves a thread: of two that move the same one, the second would take where the
// first lets it go for where it may run. Whoever wants to move one and finds it held does not.
std::mutex moving;

// The threads that began a scope, while they live; theirs who hold `moving`. Never deleted: threads
// end after the process began to.
std::vector<ThreadId>& launchers = *new std::vector<ThreadId>;
std::atomic<std::size_t> launcher_count{0};

class Launcher {
 public:
  ~Launcher() {
    if (id_ == kNoThread) return;
    const std::lock_guard lock(moving);
    launchers.erase(std::find(launchers.begin(), launchers.end(), id_));
    launcher_count.store(launchers.size());
  }

  void Join() {
    if (id_ != kNoThread) return;
    const std::lock_guard lock(moving);
    id_ = CurrentThread();
    launchers.push_back(id_);
    launcher_count.store(launchers.size());
  }

  void Forget() { id_ = kNoThread; }

  ThreadId id() const { return id_; }

 private:
  ThreadId id_ = kNoThread;
};

thread_local Launcher self;

// A child has this memory and no thread but the one that forked, which is in no scope: those of
// others never end there.
void BeginChild() {
  for (auto& count : takers) count.store(0);
  launchers.clear();
  launcher_count.store(0);
  self.Forget();
  moving.unlock();
}

[[maybe_unused]] const int watched =
    pthread_atfork([] { moving.lock(); }, [] { moving.unlock(); }, BeginChild);

// A processor that nobody has and the caller may use, with the caller on it; else -1. One of a core
// that nobody has, if there is one, and of those the next after `here`: likely near it, and not the
// one that every process would take first.
int MoveToFree(int here) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  const std::unique_lock lock(moving, std::try_to_lock);
  if (!lock) return -1;
  std::bitset<CPU_SETSIZE> cores;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (takers[i].load() > 0) cores.set(static_cast<std::size_t>(CoreOf(i)));
  }
  for (const bool whole : {true, false}) {
    for (int k = 1; k < CPU_SETSIZE; ++k) {
      const int i = (here + k) % CPU_SETSIZE;
      int nobody = 0;
      if (!CPU_ISSET(i, &allowed) || (whole && cores[static_cast<std::size_t>(CoreOf(i))]) ||
          !takers[i].compare_exchange_strong(nobody, 1)) {
        continue;
      }
      if (MoveTo(i)) return i;
      takers[i].fetch_sub(1);
    }
  }
  return -1;
}

bool HasFree() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed) && takers[i].load() == 0) return true;
  }
  return false;
}

// Threads that wait for this processor and may be about to launch go to another one, now: they
// could themselves only when they run.
void SendWaitingOff(int here) {
  if (launcher_count.load(std::memory_order_relaxed) < 2 || !HasFree()) return;
  const std::unique_lock lock(moving, std::try_to_lock);
  if (!lock) return;
  for (const ThreadId thread : launchers) {
    if (thread != self.id() && WaitsFor(thread, here)) MoveOff(thread, here);
  }
}

bool IsCounted(int processor) { return processor >= 0 && processor < CPU_SETSIZE; }

}  // namespace

OwnProcessor::OwnProcessor() {
  const int here = CurrentProcessor();
  if (!IsCounted(here)) return;
  scope = this;
  self.Join();
  Settle(here);
}

OwnProcessor::~OwnProcessor() {
  if (taken_ >= 0) takers[taken_].fetch_sub(1);
  scope = nullptr;
}

void OwnProcessor::Renew(std::int64_t nbytes) {
  if (scope) scope->RenewAt(CurrentProcessor(), nbytes);
}

void OwnProcessor::RenewAt(int here, std::int64_t nbytes) {
  if (!IsCounted(here)) return;
  const bool moved = here != taken_;
  if (moved || (!crowded_ && takers[here].load() > 1)) Settle(here);
  nbytes_ += nbytes;
  if (nbytes_ < looks_at_) return;
  looks_at_ = 2 * nbytes_;
  SendWaitingOff(taken_);
}

void OwnProcessor::Settle(int here) {
  const int before = taken_;
  const int others = takers[here].load() - (here == before ? 1 : 0);
  taken_ = others > 0 && !crowded_ ? MoveToFree(here) : -1;
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

void OwnProcessor::Renew(std::int64_t) {}

}  // namespace headrace::cpu

#endif
