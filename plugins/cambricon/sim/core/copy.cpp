#include "copy.h"

#include <cstring>
#include <memory>
#include <vector>

#include "cost.h"
#include "device.h"
#include "memory.h"
#include "queue.h"
#include "report.h"
#include "state.h"

namespace mlusim {
namespace {

// One end of a copy: a checked span of a card or of page-locked memory, or pageable memory of the
// host, of which nothing is known.
struct End {
  Span span;
  unsigned char* pageable = nullptr;

  bool OnCard() const { return span.block && span.block->device != kHost; }
  bool Pinned() const { return span.block && span.block->device == kHost; }
  unsigned char* data() const { return pageable ? pageable : span.data(); }
};

bool PointsToCard(const void* pointer) {
  const std::shared_ptr<Block> block = BlockAt(pointer);
  return block && block->device != kHost;
}

End HostEnd(const void* pointer, std::size_t bytes, const char* role) {
  if (!pointer) throw Misuse("null-pointer", Fault::kInvalidArgument, Text(role, " is NULL"));
  const std::shared_ptr<Block> block = BlockAt(pointer);
  if (!block && IsCardAddress(pointer)) {
    throw Misuse("wrong-direction", Fault::kCopyDirection,
                 Text(role, " is an address of a card; the direction says host memory"));
  }
  if (!block) {
    return {{}, static_cast<unsigned char*>(const_cast<void*>(pointer))};
  }
  if (block->device != kHost) {
    throw Misuse("wrong-direction", Fault::kCopyDirection,
                 Text(role, " is ", block->Describe(), "; the direction says host memory"));
  }
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(pointer) - block->address;
  if (bytes > block->bytes - offset) {
    throw Misuse(
        "out-of-bounds", Fault::kInvalidArgument,
        Text(role, " needs ", bytes, " bytes at offset ", offset, " of ", block->Describe()));
  }
  return {{block, offset, bytes}, nullptr};
}

End CardEnd(const void* pointer, std::size_t bytes, const char* role) {
  try {
    return {DeviceSpan(pointer, bytes, role), nullptr};
  } catch (const Misuse& misuse) {
    if (std::strcmp(misuse.kind, "host-pointer") != 0) throw;
    throw Misuse("wrong-direction", Fault::kCopyDirection,
                 Text(misuse.what(), " for this direction"));
  }
}

struct Ends {
  End to, from;
};

Ends Resolve(const Pitched& copy, Direction direction) {
  if (copy.width > copy.to_pitch || copy.width > copy.from_pitch) {
    throw Misuse("bad-argument", Fault::kInvalidArgument, "a row is wider than its pitch");
  }
  const auto extent = [&](std::size_t pitch) { return pitch * (copy.rows - 1) + copy.width; };
  const std::size_t to_bytes = extent(copy.to_pitch), from_bytes = extent(copy.from_pitch);
  bool to_card = false, from_card = false;
  switch (direction) {
    case Direction::kHostToDevice:
      to_card = true;
      break;
    case Direction::kDeviceToHost:
      from_card = true;
      break;
    case Direction::kDeviceToDevice:
    case Direction::kPeerToPeer:
      to_card = from_card = true;
      break;
    case Direction::kHostToHost:
      break;
    case Direction::kFromPointers:
      to_card = PointsToCard(copy.to);
      from_card = PointsToCard(copy.from);
      break;
    default:
      throw Misuse("wrong-direction", Fault::kCopyDirection,
                   Text("there is no direction ", static_cast<int>(direction)));
  }
  Ends ends;
  ends.to = to_card ? CardEnd(copy.to, to_bytes, "the destination")
                    : HostEnd(copy.to, to_bytes, "the destination");
  ends.from = from_card ? CardEnd(copy.from, from_bytes, "the source")
                        : HostEnd(copy.from, from_bytes, "the source");
  return ends;
}

void CheckCards(const Ends& ends, int card) {
  for (const End* end : {&ends.to, &ends.from}) {
    if (!end->OnCard() || end->span.block->device == card) continue;
    throw Misuse("wrong-device", Fault::kWrongDevice,
                 Text(end->span.block->Describe(), " takes part in a copy of card ", card,
                      "; between cards there is cnrtMemcpyPeer"));
  }
}

void Move(const Pitched& copy, unsigned char* to, const unsigned char* from) {
  for (std::size_t row = 0; row < copy.rows; ++row) {
    std::memmove(to + row * copy.to_pitch, from + row * copy.from_pitch, copy.width);
  }
}

double Cost(const Ends& ends, std::size_t bytes) {
  return ends.to.OnCard() && ends.from.OnCard() ? ComputeUs(2.0 * bytes, 0) : LinkUs(bytes);
}

void CheckHostUse(const Span& span, bool writes, const char* role) {
  const std::string conflict = HostConflict(span, writes, role);
  if (!conflict.empty()) Refuse("missing-sync", Fault::kQueueFailed, conflict);
}

void CopyNow(const Pitched& copy, Ends& ends) {
  if (ends.from.span.block) CheckHostUse(ends.from.span, false, "the source");
  if (ends.to.span.block) CheckHostUse(ends.to.span, true, "the destination");
  Move(copy, ends.to.data(), ends.from.data());
}

void CopyLater(const Pitched& copy, Ends& ends, Queue& queue) {
  Task task;
  task.call = CallScope::Name();
  task.crosses_cards = ends.to.OnCard() && ends.from.OnCard();
  task.cost_us = Cost(ends, copy.width * copy.rows);
  if (ends.from.span.block) task.uses.push_back({ends.from.span, false, "the source"});
  if (ends.to.span.block) task.uses.push_back({ends.to.span, true, "the destination"});
  unsigned char* to = ends.to.data();
  const unsigned char* from = ends.from.data();
  if (ends.from.pageable && queue.StagesNextCopy()) {
    // A driver may copy pageable memory aside at once, or read it when the queue gets there.
    auto staged = std::make_shared<std::vector<unsigned char>>(copy.width * copy.rows);
    Pitched aside = copy;
    aside.to_pitch = copy.width;
    Move(aside, staged->data(), from);
    Pitched rest = copy;
    rest.from_pitch = copy.width;
    task.run = [rest, to, staged] { Move(rest, to, staged->data()); };
  } else {
    task.run = [copy, to, from] { Move(copy, to, from); };
  }
  queue.Enqueue(std::move(task));
}

Pitched Flat(void* to, const void* from, std::size_t bytes) {
  return {to, bytes, from, bytes, bytes, 1};
}

void CheckPeerEnd(const Span& span, int card, const char* role) {
  CheckCard(card);
  if (span.block->device == card) return;
  throw Misuse("wrong-device", Fault::kWrongDevice,
               Text(role, " is ", span.block->Describe(), ", not of card ", card));
}

Ends PeerEnds(void* to, int to_card, const void* from, int from_card, std::size_t bytes) {
  const Ends ends{{DeviceSpan(to, bytes, "the destination"), nullptr},
                  {DeviceSpan(from, bytes, "the source"), nullptr}};
  CheckPeerEnd(ends.to.span, to_card, "the destination");
  CheckPeerEnd(ends.from.span, from_card, "the source");
  return ends;
}

}  // namespace

void Copy2D(const Pitched& copy, Direction direction) {
  if (copy.width * copy.rows == 0) return;
  const Lock lock = Guard();
  Ends ends = Resolve(copy, direction);
  CheckCards(ends, CurrentCard());
  CopyNow(copy, ends);
}

void Copy2DAsync(const Pitched& copy, Direction direction, void* value) {
  if (copy.width * copy.rows == 0) return;
  const Lock lock = Guard();
  const std::shared_ptr<Queue> queue = QueueOf(value);
  Ends ends = Resolve(copy, direction);
  if (!ends.to.OnCard() && !ends.from.OnCard()) {
    throw Misuse("wrong-direction", Fault::kCopyDirection,
                 "a queue does not copy from host to host");
  }
  CheckCards(ends, queue->card);
  CopyLater(copy, ends, *queue);
}

void Copy(void* to, const void* from, std::size_t bytes, Direction direction) {
  Copy2D(Flat(to, from, bytes), direction);
}

void CopyAsync(void* to, const void* from, std::size_t bytes, Direction direction, void* queue) {
  Copy2DAsync(Flat(to, from, bytes), direction, queue);
}

void CopyPeer(void* to, int to_card, const void* from, int from_card, std::size_t bytes) {
  if (bytes == 0) return;
  const Lock lock = Guard();
  Ends ends = PeerEnds(to, to_card, from, from_card, bytes);
  CopyNow(Flat(to, from, bytes), ends);
}

void CopyPeerAsync(void* to, int to_card, const void* from, int from_card, std::size_t bytes,
                   void* value) {
  if (bytes == 0) return;
  const Lock lock = Guard();
  const std::shared_ptr<Queue> queue = QueueOf(value);
  Ends ends = PeerEnds(to, to_card, from, from_card, bytes);
  if (from_card != queue->card && to_card != queue->card) {
    throw Misuse("wrong-device", Fault::kWrongDevice,
                 Text("neither end of the copy is of card ", queue->card, ", the queue's"));
  }
  CopyLater(Flat(to, from, bytes), ends, *queue);
}

void Fill(void* to, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return;
  const Lock lock = Guard();
  const Span span = DeviceSpan(to, bytes, "the destination");
  CheckCards({{span, nullptr}, {}}, CurrentCard());
  CheckHostUse(span, true, "the destination");
  std::memset(span.data(), value, bytes);
}

void FillAsync(void* to, unsigned char value, std::size_t bytes, void* queue_value) {
  if (bytes == 0) return;
  const Lock lock = Guard();
  const std::shared_ptr<Queue> queue = QueueOf(queue_value);
  const Span span = DeviceSpan(to, bytes, "the destination");
  Task task;
  task.call = CallScope::Name();
  task.cost_us = ComputeUs(bytes, 0);
  task.uses.push_back({span, true, "the destination"});
  task.run = [data = span.data(), value, bytes] { std::memset(data, value, bytes); };
  queue->Enqueue(std::move(task));
}

}  // namespace mlusim
