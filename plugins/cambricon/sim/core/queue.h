// Queues: one worker thread each, strictly first in, first out, no order between two of them.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "memory.h"
#include "object.h"
#include "order.h"
#include "state.h"

namespace mlusim {

struct Use {
  Span span;
  bool writes;
  const char* role;  // of the argument, for reports
};

class Queue;

// The moment at which a queue reaches a notifier.
struct Placement {
  Stamp stamp;
  Clock clock;  // what is over by then
  std::shared_ptr<Queue> queue;
  bool reached = false;
  double virtual_us = 0;  // on the queue's own clock
};

// What one vendor call enqueues. `run` is called without the lock; it may throw Misuse or Failure,
// which becomes the queue's error.
struct Task {
  const char* call = "";
  std::vector<Use> uses;
  std::function<void()> run;
  double cost_us = 0;
  bool crosses_cards = false;        // a copy whose ends were checked by the caller
  std::shared_ptr<Placement> place;  // is reached by this task
  std::shared_ptr<Placement> wait;   // comes before this task
};

class Queue : public Object, public std::enable_shared_from_this<Queue> {
 public:
  static constexpr const char* kKind = "queue";
  const char* Kind() const override { return kKind; }

  Queue(int card, QueueId id);

  const int card;
  const QueueId id;
  // What is over when the next task starts, besides what the host had waited for. Under the lock.
  Clock clock;
  std::uint64_t last_place = 0;  // of the task enqueued last
  std::uint64_t done_place = 0;  // of the task that ended last
  Fault error = Fault::kNone;    // of a task that failed, until a sync tells it
  std::string error_text;
  bool destroyed = false;
  int holders = 0;  // library handles that have it set
  int priority = 0;

  // All under the lock.

  // Checks every use against the state of memory, the card and the order of earlier uses; then
  // appends.
  void Enqueue(Task task);
  bool Idle() const { return done_place == last_place; }
  // Waits until everything enqueued so far has run. Ends a pause.
  void Drain(Lock& lock);
  // The same; the host then knows it.
  void Wait(Lock& lock);
  // The error of a task, told once.
  void ThrowError();
  void Pause(bool paused);
  // Is the next copy from pageable memory one that a driver would stage? By the seed.
  bool StagesNextCopy() { return choices_() % 2 == 0; }

 private:
  void Work();
  void Run(Lock& lock, Task& task);

  std::deque<Task> tasks_;  // the first one is running or next
  bool working_ = false;    // a worker thread exists
  bool paused_ = false;
  double virtual_us_ = 0;
  std::mt19937_64 delays_;   // drawn by the worker
  std::mt19937_64 choices_;  // drawn by callers
};

// Takes the lock. The queue drains by itself.
void DestroyQueue(void* value);

// All under the lock.

std::shared_ptr<Queue> MakeQueue(int card);
// NULL and the special values of the era stand for a default queue. Throws Misuse for others that
// are no live queue, and for one of another card than the calling thread's.
std::shared_ptr<Queue> QueueOf(void* value);
// Live, default and draining queues of a card.
std::vector<std::shared_ptr<Queue>> QueuesOf(int card);
std::vector<std::shared_ptr<Queue>> AllQueues();
// As cnrtSyncDevice: waits for all queues of the card, then throws the first error.
void WaitForCard(Lock& lock, int card);

// Blocks until the placement is reached; its queue is no longer paused.
void WaitUntilReached(Lock& lock, Placement& placement);

// What is wrong when the host itself uses the span now: a sentence about an earlier use by a task
// that the host has not waited for; empty when there is none.
std::string HostConflict(const Span& span, bool writes, const char* role);

}  // namespace mlusim
