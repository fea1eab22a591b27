// Launches of several threads, each on a processor of its own.
#pragma once

namespace headrace::cpu {

// For its scope the caller has a processor that no other such scope has, as long as there is one.
//
// Two streams that hand the interpreter's lock to one another are often woken on one processor, and
// the scheduler needs longer than most launches take to see that another one has nothing to do. The
// affinity of the thread is afterwards what it was: the scheduler, and whoever started the thread,
// still say where it may run. Does nothing where the system does not say who runs where. One scope
// at a time in a thread.
class OwnProcessor {
 public:
  OwnProcessor();
  ~OwnProcessor();
  OwnProcessor(const OwnProcessor&) = delete;
  OwnProcessor& operator=(const OwnProcessor&) = delete;

  // To be called now and then in a long scope, as the scheduler may have moved the caller; costs
  // some nanoseconds. Nothing without a scope.
  static void Renew();

 private:
  void Settle(int here);

  int taken_ = -1;
  bool crowded_ = false;  // there was no free one: who looks at every launch pays for it
};

}  // namespace headrace::cpu
