// Launches of several threads, each on a processor of its own.
#pragma once

#include <cstdint>

namespace headrace::cpu {

// For its scope the caller has a processor that no other such scope has, as long as there is one,
// and other threads that launch do not wait for it.
//
// Two streams that hand the interpreter's lock to one another are often woken on one processor, and
// the scheduler needs longer than most launches take to see that another one has nothing to do. The
// scheduler, and whoever started a thread, still say where it may run: its affinity is narrower for
// the microseconds of a move alone. Does nothing where the system does not say who runs where. One
// scope at a time in a thread.
class OwnProcessor {
 public:
  OwnProcessor();
  ~OwnProcessor();
  OwnProcessor(const OwnProcessor&) = delete;
  OwnProcessor& operator=(const OwnProcessor&) = delete;

  // To be called before each part of a scope, with how many bytes that works on: the scheduler may
  // have moved the caller, or woken another thread on its processor. Costs some nanoseconds, and
  // some microseconds after the first MiB and whenever the bytes have doubled. Nothing without a
  // scope.
  static void Renew(std::int64_t nbytes);

 private:
  void RenewAt(int here, std::int64_t nbytes);
  void Settle(int here);

  int taken_ = -1;
  bool crowded_ = false;  // there was no free one: who looks at every launch pays for it
  std::int64_t nbytes_ = 0;
  std::int64_t looks_at_ = 1 << 20;  // some tens of microseconds: that long a thread may wait
};

}  // namespace headrace::cpu
