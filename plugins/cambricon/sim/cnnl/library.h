// The library's handle: a card for life, and the queue that ops go to.
#pragma once

#include <memory>

#include "../core/object.h"
#include "../core/queue.h"

namespace mlusim::network {

struct Library : Object {
  static constexpr const char* kKind = "library handle";
  const char* Kind() const override { return kKind; }

  int card = 0;
  std::shared_ptr<Queue> queue;  // null: the default queue
  void* queue_value = nullptr;
  int atomics = 1;     // CNNL_ATOMICS_NOT_ALLOWED
  int round_mode = 0;  // CNNL_ROUND_HALF_TO_EVEN
};

// Under the lock. Checks the card of the thread.
std::shared_ptr<Library> LibraryOf(void* value);
// The queue that ops of the handle go to. Throws Misuse when it was destroyed.
std::shared_ptr<Queue> QueueFor(const Library& library);

}  // namespace mlusim::network
