#include "queue.h"

#include <chrono>
#include <map>
#include <new>
#include <thread>

#include "device.h"
#include "inject.h"
#include "settings.h"

namespace mlusim {
namespace {

struct Queues {
  QueueId last_id = 0;
  std::vector<std::weak_ptr<Queue>> all;
  std::map<int, std::shared_ptr<Queue>> defaults;  // by card
  std::map<int, Clock> destroyed;                  // by card: what its destroyed queues had to do
};

Queues& TheQueues() {
  static Queues& queues = *new Queues;
  return queues;
}

std::shared_ptr<Queue> NewQueue(int card) {
  Queues& queues = TheQueues();
  auto queue = std::make_shared<Queue>(card, ++queues.last_id);
  for (std::weak_ptr<Queue>& slot : queues.all) {
    if (slot.expired()) {
      slot = queue;
      return queue;
    }
  }
  queues.all.push_back(queue);
  return queue;
}

std::shared_ptr<Queue> DefaultQueue(std::map<int, std::shared_ptr<Queue>>& defaults) {
  std::shared_ptr<Queue>& queue = defaults[CurrentCard()];
  if (!queue) queue = NewQueue(CurrentCard());
  return queue;
}

// The default queues of one thread; they end with it, once they have run what they have.
struct OwnQueues {
  std::map<int, std::shared_ptr<Queue>> by_card;

  ~OwnQueues() {
    const Lock lock = Guard();
    for (auto& [card, queue] : by_card) {
      queue->destroyed = true;
      queue->Pause(false);
    }
  }
};

std::string Name(const Queue& queue) {
  return queue.number ? queue.Describe() : Text("the default queue of card ", queue.card);
}

std::string DescribeUse(const Access& access) {
  return Text(access.call, access.writes ? " writes" : " reads", " (task ", access.stamp.place,
              " of queue id ", access.stamp.queue, ")");
}

}  // namespace

Queue::Queue(int card, QueueId id)
    : card(card),
      id(id),
      delays_(TheSettings().seed * 977 + id),
      choices_(TheSettings().seed * 991 + id) {}

void Queue::Enqueue(Task task) {
  const Stamp stamp{id, last_place + 1};
  if (task.wait) clock.Join(task.wait->clock);
  for (const Use& use : task.uses) {
    Block& block = *use.span.block;
    if (block.device != kHost && block.device != card && !task.crosses_cards) {
      throw Misuse(
          "wrong-device", Fault::kWrongDevice,
          Text(use.role, " is ", block.Describe(), ", and ", Name(*this), " is of card ", card));
    }
  }
  for (const Use& use : task.uses) {
    const std::size_t begin = use.span.offset, end = begin + use.span.bytes;
    if (begin == end) continue;
    const Access* earlier = use.span.block->accesses.Conflict(begin, end, use.writes, clock);
    if (earlier) {
      Refuse("unordered", Fault::kQueueFailed,
             Text(use.role, ", ", use.span.block->Describe(), ", is still in use: ",
                  DescribeUse(*earlier), ", and nothing makes ", Name(*this), " wait for that"));
    }
  }
  if (!working_) {
    // First of all that may fail: nothing is recorded yet that would have to be taken back.
    std::thread([self = shared_from_this()] { self->Work(); }).detach();
    working_ = true;
  }
  for (const Use& use : task.uses) {
    if (use.span.bytes == 0) continue;
    use.span.block->accesses.Add(
        {use.span.offset, use.span.offset + use.span.bytes, use.writes, stamp, task.call});
  }
  if (const Fault injected = NextInjected(Stage::kTask, task.call); injected != Fault::kNone) {
    task.run = [injected] { throw Failure(injected, "as was asked for"); };
  }
  last_place = stamp.place;
  clock.Cover(stamp);
  if (task.place) {
    task.place->stamp = stamp;
    task.place->clock = clock;
    task.place->queue = shared_from_this();
  }
  tasks_.push_back(std::move(task));
  TheState().changed.notify_all();
}

void Queue::Drain(Lock& lock) {
  const std::uint64_t target = last_place;
  Pause(false);
  TheState().changed.wait(lock, [&] { return done_place >= target; });
}

void Queue::Wait(Lock& lock) {
  const Clock known = clock;
  Drain(lock);
  HostClock().Join(known);
}

void Queue::ThrowError() {
  if (error == Fault::kNone) return;
  const Fault told = error;
  error = Fault::kNone;
  throw Failure(told, error_text);
}

void Queue::Pause(bool paused) {
  paused_ = paused;
  TheState().changed.notify_all();
}

void Queue::Work() {
  Lock lock = Guard();
  while (true) {
    TheState().changed.wait(lock, [&] { return !tasks_.empty() ? !paused_ : destroyed; });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    Run(lock, task);
    task = Task();  // lets go of its blocks while the lock is held
    ++done_place;
    TheState().changed.notify_all();
  }
}

void Queue::Run(Lock& lock, Task& task) {
  const CallScope scope(task.call);
  if (task.wait) {
    WaitUntilReached(lock, *task.wait);
    virtual_us_ = std::max(virtual_us_, task.wait->virtual_us);
  }
  virtual_us_ += task.cost_us;
  for (const Use& use : task.uses) {
    if (!use.span.block->freed) continue;
    Report(task.call, "use-after-free",
           Text(use.role, ", ", use.span.block->Describe(), ", was freed before the task ran"));
    error = Fault::kQueueFailed;
    error_text = Text(task.call, ": memory was freed before the task ran");
    return;
  }
  const unsigned longest = TheSettings().delay_us;
  // Most tasks start at once, some late: both orders of two queues are seen.
  const unsigned delay = longest && delays_() % 4 == 0 ? delays_() % longest : 0;
  lock.unlock();
  Fault fault = Fault::kNone;
  std::string text;
  try {
    if (delay) std::this_thread::sleep_for(std::chrono::microseconds(delay));
    if (task.run) task.run();
  } catch (const Misuse& misuse) {
    Report(task.call, misuse.kind, misuse.what());
    fault = misuse.fault;
    text = misuse.what();
  } catch (const Failure& failure) {
    fault = failure.fault;
    text = failure.what();
  } catch (const std::bad_alloc&) {
    fault = Fault::kNoHostMemory;
    text = "the loops of the op need more memory than the host has";
  }
  lock.lock();
  if (fault != Fault::kNone) {
    error = fault;
    error_text = Text(task.call, ": ", text);
  }
  if (task.place) {
    task.place->reached = true;
    task.place->virtual_us = virtual_us_;
  }
}

std::shared_ptr<Queue> MakeQueue(int card) {
  CheckCard(card);
  std::shared_ptr<Queue> queue = NewQueue(card);
  Register(queue);
  return queue;
}

std::shared_ptr<Queue> QueueOf(void* value) {
  const auto number = reinterpret_cast<std::uintptr_t>(value);
  if (number == 0 || (kEra >= 6 && number == 2)) return DefaultQueue(TheQueues().defaults);
  if (kEra >= 6 && number == 1) {
    thread_local OwnQueues own;
    return DefaultQueue(own.by_card);
  }
  std::shared_ptr<Queue> queue = Find<Queue>(value);
  if (queue->card != CurrentCard()) {
    throw Misuse("wrong-device", Fault::kWrongDevice,
                 Text(Name(*queue), " is of card ", queue->card,
                      ", the current card of this thread is ", CurrentCard()));
  }
  return queue;
}

void DestroyQueue(void* value) {
  const Lock lock = Guard();
  if (reinterpret_cast<std::uintptr_t>(value) <= 2) {
    throw Misuse("default-queue", Fault::kInvalidArgument, "a default queue cannot be destroyed");
  }
  const std::shared_ptr<Queue> queue = QueueOf(value);
  if (queue->holders > 0) {
    Complain("queue-before-handle", Fault::kInvalidArgument,
             Text(Name(*queue), " is still the queue of ", queue->holders,
                  " library handle(s): destroy the handle first"));
  }
  Unregister(queue);
  queue->destroyed = true;
  TheQueues().destroyed[queue->card].Join(queue->clock);
  queue->Pause(false);
}

std::vector<std::shared_ptr<Queue>> AllQueues() {
  std::vector<std::shared_ptr<Queue>> found;
  for (const std::weak_ptr<Queue>& slot : TheQueues().all) {
    if (std::shared_ptr<Queue> queue = slot.lock()) found.push_back(queue);
  }
  return found;
}

std::vector<std::shared_ptr<Queue>> QueuesOf(int card) {
  std::vector<std::shared_ptr<Queue>> found;
  for (std::shared_ptr<Queue>& queue : AllQueues()) {
    if (queue->card == card) found.push_back(queue);
  }
  return found;
}

void WaitForCard(Lock& lock, int card) {
  const std::vector<std::shared_ptr<Queue>> queues = QueuesOf(card);
  const Clock destroyed = TheQueues().destroyed[card];
  for (const std::shared_ptr<Queue>& queue : queues) queue->Wait(lock);
  // Those that had run dry are no more; the others were waited for.
  HostClock().Join(destroyed);
  for (const std::shared_ptr<Queue>& queue : queues) queue->ThrowError();
}

void WaitUntilReached(Lock& lock, Placement& placement) {
  placement.queue->Pause(false);
  TheState().changed.wait(lock, [&] { return placement.reached; });
}

std::string HostConflict(const Span& span, bool writes, const char* role) {
  if (span.bytes == 0) return "";
  const Access* earlier =
      span.block->accesses.Conflict(span.offset, span.offset + span.bytes, writes, Clock());
  if (!earlier) return "";
  return Text(role, ", ", span.block->Describe(), ", is still in use: ", DescribeUse(*earlier),
              ", and the host has not waited for it: synchronise the queue first");
}

}  // namespace mlusim
