// Notifiers: points in queues that others may wait for and that tell virtual time.
#pragma once

#include <memory>

#include "queue.h"

namespace mlusim {

struct Notifier : Object {
  static constexpr const char* kKind = "notifier";
  const char* Kind() const override { return kKind; }

  int card = 0;
  bool timing = true;
  std::shared_ptr<Placement> placement;  // the latest, null before the first
};

}  // namespace mlusim
