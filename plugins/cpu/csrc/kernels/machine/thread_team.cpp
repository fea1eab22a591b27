#include "kernels/machine/thread_team.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "kernels/machine/processor.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headrace::cpu {
namespace {

// Longer than what lies between two kernels of a chain, shorter than anybody notices.
constexpr auto kSpin = std::chrono::microseconds(60);

// Looks at who is inside before the caller asks why: some tens of microseconds.
constexpr int kPatience = 512;

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

thread_local bool in_loop = false;

class InsideOfLoop {
 public:
  InsideOfLoop() { in_loop = true; }
  ~InsideOfLoop() { in_loop = false; }
};

}  // namespace

bool InLoop() { return in_loop; }

void ThreadTeam::Resize(int threads) {
  const std::lock_guard lock(caller_);
  Join();
  threads_ = threads;
}

bool ThreadTeam::Run(Size count, Size grain, LoopBody body, void* context) {
  const std::unique_lock lock(caller_, std::try_to_lock);
  if (!lock) return false;
  if (workers_.empty() && Count() > 1) Start();
  if (Count() == 1) {
    const InsideOfLoop inside;
    body(context, 0, count);
    return true;
  }
  Open(count, grain, body, context);
  Work(0);
  state_.fetch_and(~kOpen);
  WaitForInside();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return true;
}

void ThreadTeam::Start() {
  stop_.store(false);
  const int wanted = Count();
  shares_ = std::vector<Share>(static_cast<std::size_t>(wanted));
  for (int i = 1; i < wanted; ++i) {
    Worker& worker = workers_.emplace_back();
    try {
      worker.thread =
          std::thread([this, i, &worker] { Serve(static_cast<std::size_t>(i), worker); });
    } catch (const std::exception& refusal) {
      workers_.pop_back();
      threads_ = i;
      // To the stream itself: Python's warnings run code of users, who may call kernels.
      std::fprintf(stderr,
                   "headrace_cpu: kernels run on %d of %d threads: the system starts no more (%s). "
                   "Raise its limit (ulimit -u, pids.max) or set HEADRACE_CPU_THREADS.\n",
                   i, wanted, refusal.what());
      return;
    }
  }
}

void ThreadTeam::Join() {
  {
    const std::lock_guard asleep(sleep_);
    stop_.store(true);
    wake_.notify_all();
  }
  for (Worker& worker : workers_) worker.thread.join();
  workers_.clear();
}

void ThreadTeam::Open(Size count, Size grain, LoopBody body, void* context) {
  count_ = count;
  grain_ = grain;
  body_ = body;
  context_ = context;
  const Size threads = Count();
  for (Size i = 0; i < threads; ++i) {
    Share& share = shares_[static_cast<std::size_t>(i)];
    share.next.store(count * i / threads, std::memory_order_relaxed);
    share.end = count * (i + 1) / threads;
  }
  error_ = nullptr;
  const int here = CurrentProcessor();
  callers_processor_.store(here, std::memory_order_relaxed);
  state_.store(((state_.load(std::memory_order_relaxed) >> 32) + 1) << 32 | kOpen);
  if (sleepers_.load() > 0) Wake(here);
}

// A worker that slept on this processor, where its caller is now, would be woken to wait for it.
void ThreadTeam::Wake(int here) {
  const std::lock_guard asleep(sleep_);
  for (Worker& worker : workers_) {
    if (worker.asleep_on == here) KeepOff(worker.thread.native_handle(), here);
  }
  wake_.notify_all();
}

// A worker that others keep off the processors in the middle of a part has its turn after
// milliseconds. The caller has a processor and nothing to do, so it gets that one, for that part.
void ThreadTeam::WaitForInside() {
  bool lent = false;
  int here = -1;
  for (int looks = 1; SomeInside(); ++looks) {
    Pause();
    if (looks % kPatience != 0) continue;
    here = CurrentProcessor();
    for (Worker& worker : workers_) {
      const auto thread = worker.thread.native_handle();
      const auto worked = TimeOnProcessors(thread);
      const bool waits = worked == std::exchange(worker.worked, worked);
      if (waits && worker.inside.load(std::memory_order_relaxed)) {
        KeepOn(thread, here);
        lent = true;
      }
    }
    if (lent) std::this_thread::yield();
  }
  if (!lent) return;
  for (Worker& worker : workers_) KeepOff(worker.thread.native_handle(), here);
}

void ThreadTeam::Serve(std::size_t self, Worker& me) {
  std::uint64_t seen = 0;
  auto since = std::chrono::steady_clock::now();
  while (!stop_.load()) {
    if (Enter(seen)) {
      me.inside.store(true, std::memory_order_relaxed);
      Work(self);
      me.inside.store(false, std::memory_order_relaxed);
      state_.fetch_sub(1, std::memory_order_release);
      since = std::chrono::steady_clock::now();
      continue;
    }
    const int here = CurrentProcessor();
    if (here == callers_processor_.load(std::memory_order_relaxed)) {
      KeepOff(pthread_self(), here);  // the caller came where this thread was
    }
    for (int i = 0; i < 16; ++i) Pause();
    if (std::chrono::steady_clock::now() - since < kSpin) continue;
    std::unique_lock asleep(sleep_);
    me.asleep_on = here;
    sleepers_.fetch_add(1);
    wake_.wait(asleep, [&] { return HasNews(seen); });
    sleepers_.fetch_sub(1);
  }
}

// Goes in if the loop is open and is not the one that `seen` names.
bool ThreadTeam::Enter(std::uint64_t& seen) {
  std::uint64_t state = state_.load();
  while ((state & kOpen) != 0 && state >> 32 != seen) {
    if (state_.compare_exchange_weak(state, state + 1)) {
      seen = state >> 32;
      return true;
    }
  }
  return false;
}

bool ThreadTeam::HasNews(std::uint64_t seen) const {
  const std::uint64_t state = state_.load();
  return stop_.load() || ((state & kOpen) != 0 && state >> 32 != seen);
}

// What every thread of a loop does: its own share, then what others have left of theirs.
void ThreadTeam::Work(std::size_t self) {
  const InsideOfLoop inside;
  try {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[(self + i) % shares_.size()];
      for (;;) {
        const Size begin = share.next.fetch_add(grain_, std::memory_order_relaxed);
        if (begin >= share.end) break;
        body_(context_, begin, std::min(begin + grain_, share.end));
      }
    }
  } catch (...) {
    for (Share& share : shares_) share.next.store(share.end, std::memory_order_relaxed);
    const std::lock_guard first(error_lock_);
    if (!error_) error_ = std::current_exception();
  }
}

}  // namespace headrace::cpu
