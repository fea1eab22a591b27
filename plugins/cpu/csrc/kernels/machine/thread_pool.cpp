#include "kernels/machine/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "kernels/machine/setting.h"
#include "kernels/machine/thread_team.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace headrace::cpu {
namespace {

int DefaultThreads() {
  if (const char* wanted = Setting("HEADRACE_CPU_THREADS")) {
    char* end = nullptr;
    const long count = std::strtol(wanted, &end, 10);
    if (end == wanted || *end != '\0' || count < 1 || count > kMostThreads) {
      throw SettingError("HEADRACE_CPU_THREADS", wanted,
                         "a number from 1 to " + std::to_string(kMostThreads));
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

std::atomic<ThreadTeam*> the_pool{nullptr};

// Never destroyed: threads of the process may be in a loop while static objects go.
ThreadTeam& ThePool() {
  ThreadTeam* pool = the_pool.load(std::memory_order_acquire);
  if (pool != nullptr) return *pool;
  static std::atomic<int> forks_watched{0};
  if (forks_watched.exchange(1) == 0) {
    // A child has this memory and no thread but the caller: what is under way in the old pool, and
    // who holds its locks, is nobody's business there.
    pthread_atfork(nullptr, nullptr, [] { the_pool.store(nullptr); });
  }
  auto* made = new ThreadTeam(DefaultThreads());
  if (the_pool.compare_exchange_strong(pool, made)) return *made;
  delete made;
  return *pool;
}

struct FreeScratch {
  void operator()(void* memory) const {
    ::operator delete(memory, std::align_val_t{kScratchAlignment});
  }
};

}  // namespace

int Threads() { return ThePool().Count(); }

void SetThreads(int count) {
  if (count < 1 || count > kMostThreads) {
    throw std::invalid_argument("threads is " + std::to_string(count) + " but must be from 1 to " +
                                std::to_string(kMostThreads));
  }
  if (InLoop()) throw std::logic_error("the body of a loop cannot change the threads that run it");
  ThePool().Resize(count);
}

void StopThreads() {
  if (the_pool.load() != nullptr) SetThreads(1);
}

void ParallelForBody(Size count, Size grain, LoopBody body, void* context) {
  if (count <= 0) return;
  if (count > grain && !InLoop() && ThePool().Run(count, grain, body, context)) return;
  body(context, 0, count);
}

void* ThreadScratch(std::size_t bytes) {
  thread_local std::unique_ptr<void, FreeScratch> memory;
  thread_local std::size_t size = 0;
  if (size < bytes) {
    memory.reset();
    size = 0;
    memory.reset(::operator new(bytes, std::align_val_t{kScratchAlignment}));
    size = bytes;
  }
  return memory.get();
}

}  // namespace headrace::cpu
