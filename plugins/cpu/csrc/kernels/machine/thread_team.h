// Some threads that share the parts of one loop at a time: what a pool is made of.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// Of the caller's thread: true in the body of a loop.
bool InLoop();

using LoopBody = void (*)(void* context, Size begin, Size end);

// The caller of a loop and `Count() - 1` workers.
//
// One loop at a time is open. `state_` says which: the low half counts the workers that are in it,
// kOpen is set while more may come in, and the number above changes with each loop. A worker that
// wakes too late finds it closed, and the caller waits for those that are in, not for those that
// sleep.
//
// Each has a share of the loop that is the same in the next one, so what a thread wrote it mostly
// reads itself, out of its own cache; who is done takes parts of what others have left.
class ThreadTeam {
 public:
  // No thread is made before the first loop. If the system starts fewer, the team has those, which
  // is said on the error stream; `Resize` tries again.
  explicit ThreadTeam(int threads) : threads_(threads) {}

  int Count() const { return threads_.load(std::memory_order_relaxed); }

  // Waits for the loop that is under way.
  void Resize(int threads);

  // False, and nothing done, when somebody else has the team. Throws what a body threw.
  bool Run(Size count, Size grain, LoopBody body, void* context);

 private:
  struct alignas(64) Share {
    std::atomic<Size> next{0};
    Size end = 0;
  };

  struct alignas(64) Worker {
    std::thread thread;
    std::atomic<bool> inside{false};
    int asleep_on = -1;       // the processor; belongs to who holds `sleep_`
    std::int64_t worked = 0;  // when it was looked at last; belongs to who holds `caller_`
  };

  static constexpr std::uint64_t kOpen = std::uint64_t{1} << 31;
  static constexpr std::uint64_t kInside = kOpen - 1;

  void Start();
  void Join();

  // The caller's side.
  void Open(Size count, Size grain, LoopBody body, void* context);
  void Wake(int here);
  bool SomeInside() const { return (state_.load(std::memory_order_acquire) & kInside) != 0; }
  void WaitForInside();

  // A worker's side.
  void Serve(std::size_t self, Worker& me);
  bool Enter(std::uint64_t& seen);
  bool HasNews(std::uint64_t seen) const;

  // What each of them does.
  void Work(std::size_t self);

  std::mutex caller_;  // held by who runs a loop, or changes the threads
  std::atomic<int> threads_;
  std::deque<Worker> workers_;  // which stay where they are while others are added

  Size count_ = 0;
  Size grain_ = 1;
  LoopBody body_ = nullptr;
  void* context_ = nullptr;
  std::vector<Share> shares_;
  std::mutex error_lock_;
  std::exception_ptr error_;

  alignas(64) std::atomic<std::uint64_t> state_{0};
  std::atomic<int> callers_processor_{-1};
  alignas(64) std::atomic<bool> stop_{false};
  std::atomic<int> sleepers_{0};
  std::mutex sleep_;
  std::condition_variable wake_;
};

}  // namespace headrace::cpu
