#include "thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headrace::cpu {
namespace {

// Longer than what lies between two kernels of a chain, shorter than anybody notices.
constexpr auto kSpin = std::chrono::microseconds(60);

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// True in a body: a loop inside a loop runs on its caller.
thread_local bool in_loop = false;

class InLoop {
 public:
  InLoop() { in_loop = true; }
  ~InLoop() { in_loop = false; }
};

// One loop at a time is open. `state_` says which: the low half counts the workers that are in it,
// kOpen is set while more may come in, and the number above changes with each loop. A worker that
// wakes too late finds it closed, and the caller waits for those that are in, not for those that
// sleep.
class Pool {
 public:
  explicit Pool(int threads) : threads_(threads) {}

  int Count() const { return threads_.load(std::memory_order_relaxed); }

  void Resize(int threads) {
    const std::lock_guard lock(caller_);
    Join();
    threads_ = threads;
  }

  // False, and nothing done, when somebody else has the pool.
  bool Run(Size count, Size grain, LoopBody body, void* context) {
    const std::unique_lock lock(caller_, std::try_to_lock);
    if (!lock) return false;
    if (Count() == 1) {
      const InLoop inside;
      body(context, 0, count);
      return true;
    }
    if (workers_.empty()) Start();
    count_ = count;
    grain_ = grain;
    body_ = body;
    context_ = context;
    next_.store(0, std::memory_order_relaxed);
    error_ = nullptr;
    state_.store(((state_.load(std::memory_order_relaxed) >> 32) + 1) << 32 | kOpen);
    if (sleepers_.load() > 0) {
      const std::lock_guard asleep(sleep_);
      wake_.notify_all();
    }
    Work();
    state_.fetch_and(~kOpen);
    for (int spins = 0; (state_.load(std::memory_order_acquire) & kInside) != 0; ++spins) {
      if (spins < 4096) {
        Pause();
      } else {
        std::this_thread::yield();  // more threads than cores: let them have this one
      }
    }
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return true;
  }

 private:
  static constexpr std::uint64_t kOpen = std::uint64_t{1} << 31;
  static constexpr std::uint64_t kInside = kOpen - 1;

  void Start() {
    stop_.store(false);
    for (int i = 1; i < Count(); ++i) workers_.emplace_back([this] { Serve(); });
  }

  void Join() {
    {
      const std::lock_guard asleep(sleep_);
      stop_.store(true);
      wake_.notify_all();
    }
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }

  // What every thread of a loop does: takes parts until there are none.
  void Work() {
    const InLoop inside;
    try {
      for (;;) {
        const Size begin = next_.fetch_add(grain_, std::memory_order_relaxed);
        if (begin >= count_) return;
        body_(context_, begin, std::min(begin + grain_, count_));
      }
    } catch (...) {
      next_.store(count_, std::memory_order_relaxed);
      const std::lock_guard first(error_lock_);
      if (!error_) error_ = std::current_exception();
    }
  }

  // Goes in if the loop is open and is not the one that `seen` names.
  bool Enter(std::uint64_t& seen) {
    std::uint64_t state = state_.load();
    while ((state & kOpen) != 0 && state >> 32 != seen) {
      if (state_.compare_exchange_weak(state, state + 1)) {
        seen = state >> 32;
        return true;
      }
    }
    return false;
  }

  bool HasNews(std::uint64_t seen) const {
    const std::uint64_t state = state_.load();
    return stop_.load() || ((state & kOpen) != 0 && state >> 32 != seen);
  }

  void Serve() {
    std::uint64_t seen = 0;
    auto since = std::chrono::steady_clock::now();
    while (!stop_.load()) {
      if (Enter(seen)) {
        Work();
        state_.fetch_sub(1, std::memory_order_release);
        since = std::chrono::steady_clock::now();
        continue;
      }
      for (int i = 0; i < 16; ++i) Pause();
      if (std::chrono::steady_clock::now() - since < kSpin) continue;
      std::unique_lock asleep(sleep_);
      sleepers_.fetch_add(1);
      wake_.wait(asleep, [&] { return HasNews(seen); });
      sleepers_.fetch_sub(1);
    }
  }

  std::mutex caller_;  // held by who runs a loop, or changes the threads
  std::atomic<int> threads_;
  std::vector<std::thread> workers_;

  Size count_ = 0;
  Size grain_ = 1;
  LoopBody body_ = nullptr;
  void* context_ = nullptr;
  std::mutex error_lock_;
  std::exception_ptr error_;

  alignas(64) std::atomic<std::uint64_t> state_{0};
  alignas(64) std::atomic<Size> next_{0};
  alignas(64) std::atomic<bool> stop_{false};
  std::atomic<int> sleepers_{0};
  std::mutex sleep_;
  std::condition_variable wake_;
};

int DefaultThreads() {
  if (const char* wanted = std::getenv("HEADRACE_CPU_THREADS")) {
    char* end = nullptr;
    const long count = std::strtol(wanted, &end, 10);
    if (end == wanted || *end != '\0' || count < 1 || count > kMostThreads) {
      throw std::invalid_argument("HEADRACE_CPU_THREADS is '" + std::string(wanted) +
                                  "' but must be a number from 1 to " +
                                  std::to_string(kMostThreads));
    }
    return static_cast<int>(count);
  }
#if defined(__linux__)
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine) == 0) {
    return std::clamp(CPU_COUNT(&mine), 1, kMostThreads);
  }
#endif
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
}

std::atomic<Pool*> the_pool{nullptr};

// Never destroyed: threads of the process may be in a loop while static objects go.
Pool& ThePool() {
  Pool* pool = the_pool.load(std::memory_order_acquire);
  if (pool != nullptr) return *pool;
  static std::atomic<int> forks_watched{0};
  if (forks_watched.exchange(1) == 0) {
    // A child has this memory and no thread but the caller: what is under way in the old pool, and
    // who holds its locks, is nobody's business there.
    pthread_atfork(nullptr, nullptr, [] { the_pool.store(nullptr); });
  }
  auto* made = new Pool(DefaultThreads());
  if (the_pool.compare_exchange_strong(pool, made)) return *made;
  delete made;
  return *pool;
}

struct FreeScratch {
  void operator()(void* memory) const { ::operator delete(memory, std::align_val_t{64}); }
};

}  // namespace

int Threads() { return ThePool().Count(); }

void SetThreads(int count) {
  if (count < 1 || count > kMostThreads) {
    throw std::invalid_argument("threads is " + std::to_string(count) + " but must be from 1 to " +
                                std::to_string(kMostThreads));
  }
  if (in_loop) throw std::logic_error("the body of a loop cannot change the threads that run it");
  ThePool().Resize(count);
}

void StopThreads() {
  if (the_pool.load() != nullptr) SetThreads(1);
}

void ParallelForBody(Size count, Size grain, LoopBody body, void* context) {
  if (count <= 0) return;
  if (count > grain && !in_loop && ThePool().Run(count, grain, body, context)) return;
  body(context, 0, count);
}

void* ThreadScratch(std::size_t bytes) {
  thread_local std::unique_ptr<void, FreeScratch> memory;
  thread_local std::size_t size = 0;
  if (size < bytes) {
    memory.reset();
    size = 0;
    memory.reset(::operator new(bytes, std::align_val_t{64}));
    size = bytes;
  }
  return memory.get();
}

}  // namespace headrace::cpu
