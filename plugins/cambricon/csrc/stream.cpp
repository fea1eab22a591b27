#include "stream.h"

namespace headrace::cambricon {
namespace {

Owner<cnrtQueue_t> NewQueue(std::shared_ptr<const Library> library, int device) {
  const DeviceGuard guard(*library, device);
  const Api& api = library->api();
  cnrtQueue_t queue = nullptr;
  if (api.cnrtQueueCreate) {
    library->CheckRuntime(api.cnrtQueueCreate(&queue), "cnrtQueueCreate");
  } else {
    library->CheckRuntime(api.cnrtCreateQueue(&queue), "cnrtCreateQueue");
  }
  return {queue, Destroyer{std::move(library), device}};
}

Owner<cnnlHandle_t> NewHandle(std::shared_ptr<const Library> library, int device,
                              cnrtQueue_t queue) {
  const DeviceGuard guard(*library, device);
  cnnlHandle_t handle = nullptr;
  library->CheckNetwork(library->api().cnnlCreate(&handle), "cnnlCreate");
  Owner<cnnlHandle_t> owner(handle, Destroyer{library, device});
  library->CheckNetwork(library->api().cnnlSetQueue(handle, queue), "cnnlSetQueue");
  return owner;
}

Owner<cnrtNotifier_t> NewNotifier(std::shared_ptr<const Library> library, int device) {
  const DeviceGuard guard(*library, device);
  const Api& api = library->api();
  cnrtNotifier_t notifier = nullptr;
  if (api.cnrtNotifierCreate) {
    library->CheckRuntime(api.cnrtNotifierCreate(&notifier), "cnrtNotifierCreate");
  } else {
    library->CheckRuntime(api.cnrtCreateNotifier(&notifier), "cnrtCreateNotifier");
  }
  return {notifier, Destroyer{std::move(library), device}};
}

}  // namespace

// What a destroyer cannot destroy is lost: nobody is there to be told of it.

void Destroyer::operator()(cnrtQueue_t queue) const try {
  const DeviceGuard guard(*library, device);
  const Api& api = library->api();
  (api.cnrtQueueDestroy ? api.cnrtQueueDestroy : api.cnrtDestroyQueue)(queue);
} catch (const CallError&) {
}

void Destroyer::operator()(cnrtNotifier_t notifier) const try {
  const DeviceGuard guard(*library, device);
  const Api& api = library->api();
  if (api.cnrtNotifierDestroy) {
    api.cnrtNotifierDestroy(notifier);
  } else {
    api.cnrtDestroyNotifier(&notifier);
  }
} catch (const CallError&) {
}

void Destroyer::operator()(cnnlHandle_t handle) const try {
  const DeviceGuard guard(*library, device);
  library->api().cnnlDestroy(handle);
} catch (const CallError&) {
}

Event::Event(std::shared_ptr<const Library> library, int device)
    : library_(std::move(library)), device_(device), notifier_(NewNotifier(library_, device)) {}

void Event::Wait() const {
  const DeviceGuard guard(*library_, device_);
  library_->CheckRuntime(library_->api().cnrtWaitNotifier(notifier_.get()), "cnrtWaitNotifier");
}

bool Event::IsReached() const {
  const DeviceGuard guard(*library_, device_);
  return library_->IsDone(library_->api().cnrtQueryNotifier(notifier_.get()), "cnrtQueryNotifier");
}

Stream::Stream(std::shared_ptr<const Library> library, int device)
    : library_(std::move(library)),
      device_(device),
      queue_(NewQueue(library_, device)),
      handle_(NewHandle(library_, device, queue_.get())) {}

void Stream::Copy(void* to, const void* from, std::size_t bytes, Direction direction) {
  if (bytes == 0) return;
  const DeviceGuard guard(*library_, device_);
  const Api& api = library_->api();
  const auto copy = api.cnrtMemcpyAsync_V3   ? api.cnrtMemcpyAsync_V3
                    : api.cnrtMemcpyAsync_V2 ? api.cnrtMemcpyAsync_V2
                                             : api.cnrtMemcpyAsync;
  library_->CheckRuntime(
      copy(to, const_cast<void*>(from), bytes, queue_.get(), static_cast<int>(direction)),
      "cnrtMemcpyAsync", " of " + std::to_string(bytes) + " bytes");
}

void Stream::CopyFrom(int peer, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const DeviceGuard guard(*library_, device_);
  library_->CheckRuntime(library_->api().cnrtMemcpyPeerAsync(to, device_, const_cast<void*>(from),
                                                             peer, bytes, queue_.get()),
                         "cnrtMemcpyPeerAsync");
}

void Stream::Fill(void* address, int value, std::size_t bytes) {
  if (bytes == 0) return;
  const DeviceGuard guard(*library_, device_);
  const Api& api = library_->api();
  if (api.cnrtMemsetAsync) {
    library_->CheckRuntime(api.cnrtMemsetAsync(address, value, bytes, queue_.get()),
                           "cnrtMemsetAsync");
  } else {
    library_->CheckRuntime(
        api.cnrtMemsetD8Async(address, static_cast<unsigned char>(value), bytes, queue_.get()),
        "cnrtMemsetD8Async");
  }
}

std::shared_ptr<Event> Stream::Record() {
  const DeviceGuard guard(*library_, device_);
  auto event = std::make_shared<Event>(library_, device_);
  library_->CheckRuntime(library_->api().cnrtPlaceNotifier(event->notifier(), queue_.get()),
                         "cnrtPlaceNotifier");
  return event;
}

void Stream::WaitFor(const Event& event) {
  const DeviceGuard guard(*library_, device_);
  library_->CheckRuntime(library_->api().cnrtQueueWaitNotifier(event.notifier(), queue_.get(), 0),
                         "cnrtQueueWaitNotifier");
}

void Stream::Synchronize() {
  const DeviceGuard guard(*library_, device_);
  const Api& api = library_->api();
  if (api.cnrtQueueSync) {
    library_->CheckRuntime(api.cnrtQueueSync(queue_.get()), "cnrtQueueSync");
  } else {
    library_->CheckRuntime(api.cnrtSyncQueue(queue_.get()), "cnrtSyncQueue");
  }
}

bool Stream::IsIdle() {
  const DeviceGuard guard(*library_, device_);
  const Api& api = library_->api();
  if (api.cnrtQueueQuery)
    return library_->IsDone(api.cnrtQueueQuery(queue_.get()), "cnrtQueueQuery");
  return library_->IsDone(api.cnrtQueryQueue(queue_.get()), "cnrtQueryQueue");
}

void Stream::Close() {
  handle_.reset();
  queue_.reset();
}

}  // namespace headrace::cambricon
