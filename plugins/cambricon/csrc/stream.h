// A queue with the handle that ops go through, and the notifiers placed in it.
#pragma once

#include <memory>

#include "device.h"

namespace headrace::cambricon {

// Owners of what the vendor's functions create; each destroys it under a guard of its device.
struct Destroyer {
  std::shared_ptr<const Library> library;
  int device;

  void operator()(cnrtQueue_t queue) const;
  void operator()(cnrtNotifier_t notifier) const;
  void operator()(cnnlHandle_t handle) const;
};
template <typename Pointer>
using Owner = std::unique_ptr<std::remove_pointer_t<Pointer>, Destroyer>;

// A point in a queue. Waiting is allowed in any thread, also when the stream is closed.
class Event {
 public:
  Event(std::shared_ptr<const Library> library, int device);

  void Wait() const;
  // True when Wait would not wait.
  bool IsReached() const;
  int device() const { return device_; }
  cnrtNotifier_t notifier() const { return notifier_.get(); }

 private:
  std::shared_ptr<const Library> library_;
  int device_;
  Owner<cnrtNotifier_t> notifier_;
};

enum class Direction { kHostToDevice = 0, kDeviceToDevice = 1, kDeviceToHost = 2 };

// One thread at a time enqueues; any thread may wait.
class Stream {
 public:
  Stream(std::shared_ptr<const Library> library, int device);

  void Copy(void* to, const void* from, std::size_t bytes, Direction direction);
  void CopyFrom(int peer, void* to, const void* from, std::size_t bytes);
  void Fill(void* address, int value, std::size_t bytes);
  std::shared_ptr<Event> Record();
  // Later work waits for the event, which is of the same device.
  void WaitFor(const Event& event);
  // Throws what failed since the last call, once.
  void Synchronize();
  // True when all is done; throws as Synchronize does.
  bool IsIdle();
  // Destroys the handle and then the queue. Idempotent; nothing may be called afterwards.
  void Close();

  const Library& library() const { return *library_; }
  int device() const { return device_; }
  cnnlHandle_t handle() const { return handle_.get(); }

 private:
  std::shared_ptr<const Library> library_;
  int device_;
  Owner<cnrtQueue_t> queue_;
  Owner<cnnlHandle_t> handle_;  // behind the queue, which outlives it
};

}  // namespace headrace::cambricon
