#include "../core/device.h"
#include "../core/notifier.h"
#include "../core/queue.h"
#include "export.h"

namespace mlusim::runtime {
namespace {

constexpr unsigned kNoTiming = 4;  // CNRT_NOTIFIER_DISABLE_TIMING_ALL

std::shared_ptr<Placement> PlacementOf(const std::shared_ptr<Notifier>& notifier) {
  if (!notifier->timing) {
    throw Misuse("no-timing", Fault::kInvalidArgument,
                 Text(notifier->Describe(), " was created without timing"));
  }
  if (!notifier->placement) {
    throw Misuse("never-placed", Fault::kDriverCall,
                 Text(notifier->Describe(), " was never placed in a queue"));
  }
  return notifier->placement;
}

}  // namespace

void CreateQueue(void** queue, int priority) {
  Needed(queue, "the queue");
  const Lock lock = Guard();
  const std::shared_ptr<Queue> made = MakeQueue(CurrentCard());
  made->priority = priority;
  *queue = made->value;
}

void QueuePriority(void* queue, int* priority) {
  const Lock lock = Guard();
  *Needed(priority, "the priority") = QueueOf(queue)->priority;
}

void SynchronizeQueue(void* value) {
  Lock lock = Guard();
  const std::shared_ptr<Queue> queue = QueueOf(value);
  queue->Wait(lock);
  queue->ThrowError();
}

void QueryQueue(void* value) {
  const Lock lock = Guard();
  const std::shared_ptr<Queue> queue = QueueOf(value);
  if (!queue->Idle()) throw Failure(Fault::kNotReady, "the queue is at work");
  HostClock().Join(queue->clock);
  queue->ThrowError();
}

void QueueWaitsFor(void* notifier_value, void* queue_value, unsigned flags) {
  const Lock lock = Guard();
  const std::shared_ptr<Queue> queue = QueueOf(queue_value);
  const std::shared_ptr<Notifier> notifier = Find<Notifier>(notifier_value);
  if (flags > 1) {
    throw Misuse("bad-argument", Fault::kInvalidArgument, Text("flags is ", flags, ", not 0 or 1"));
  }
  if (notifier->card != queue->card) {
    throw Misuse("wrong-device", Fault::kWrongDevice,
                 Text(notifier->Describe(), " is of card ", notifier->card, ", the queue of card ",
                      queue->card));
  }
  if (!notifier->placement) return;
  Task task;
  task.call = CallScope::Name();
  task.wait = notifier->placement;
  queue->Enqueue(std::move(task));
}

void CallOnHost(void* value, void (*function)(void*), void* argument) {
  Needed(reinterpret_cast<void*>(function), "the function");
  const Lock lock = Guard();
  const std::shared_ptr<Queue> queue = QueueOf(value);
  const auto placement = std::make_shared<Placement>();
  Task task;
  task.call = CallScope::Name();
  task.place = placement;
  task.run = [function, argument, placement] {
    {
      // Whomever the function tells, by whatever means, knows that what came before is over.
      const Lock again = Guard();
      HostClock().Join(placement->clock);
    }
    const HostFunctionScope scope;
    function(argument);
  };
  queue->Enqueue(std::move(task));
}

void CreateNotifier(void** value, unsigned flags) {
  Needed(value, "the notifier");
  const Lock lock = Guard();
  auto notifier = std::make_shared<Notifier>();
  notifier->card = CurrentCard();
  notifier->timing = (flags & kNoTiming) == 0;
  *value = Register(notifier);
}

void DestroyNotifier(void* value) {
  const Lock lock = Guard();
  Unregister(Find<Notifier>(value));
}

void DestroyNotifierAt(void** value) {
  const Lock lock = Guard();
  Needed(value, "the address of the notifier");
  if (IsObjectValue(value)) {
    throw Misuse("wrong-kind", Fault::kInvalidArgument,
                 "the notifier itself was given; this function takes the address of it");
  }
  Unregister(Find<Notifier>(*value));
}

void PlaceNotifier(void* notifier_value, void* queue_value) {
  const Lock lock = Guard();
  const std::shared_ptr<Queue> queue = QueueOf(queue_value);
  const std::shared_ptr<Notifier> notifier = Find<Notifier>(notifier_value);
  if (notifier->card != queue->card) {
    throw Misuse("wrong-device", Fault::kWrongDevice,
                 Text(notifier->Describe(), " is of card ", notifier->card, ", the queue of card ",
                      queue->card));
  }
  const auto placement = std::make_shared<Placement>();
  Task task;
  task.call = CallScope::Name();
  task.place = placement;
  queue->Enqueue(std::move(task));
  notifier->placement = placement;
}

void WaitNotifier(void* value) {
  Lock lock = Guard();
  const std::shared_ptr<Placement> placement = Find<Notifier>(value)->placement;
  if (!placement) return;
  WaitUntilReached(lock, *placement);
  HostClock().Join(placement->clock);
}

void QueryNotifier(void* value) {
  const Lock lock = Guard();
  const std::shared_ptr<Placement> placement = Find<Notifier>(value)->placement;
  if (!placement) return;
  if (!placement->reached) {
    throw Failure(kEra == 6 ? Fault::kNotReady : Fault::kBusy, "the notifier is pending");
  }
  HostClock().Join(placement->clock);
}

void Elapsed(void* start_value, void* end_value, float* value, float per_us) {
  const Lock lock = Guard();
  const std::shared_ptr<Placement> start = PlacementOf(Find<Notifier>(start_value));
  const std::shared_ptr<Placement> end = PlacementOf(Find<Notifier>(end_value));
  if (start->queue != end->queue) {
    throw Misuse("two-queues", Fault::kDriverCall, "the notifiers were placed in different queues");
  }
  if (!start->reached || !end->reached) throw Failure(Fault::kBusy, "a notifier is pending");
  *Needed(value, "the duration") = static_cast<float>(end->virtual_us - start->virtual_us) * per_us;
}

}  // namespace mlusim::runtime
