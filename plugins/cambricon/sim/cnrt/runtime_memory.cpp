#include "../core/device.h"
#include "../core/memory.h"
#include "../core/queue.h"
#include "export.h"

namespace mlusim::runtime {
namespace {

void Allocate(void** pointer, std::size_t bytes, int where) {
  Needed(pointer, "the pointer");
  *pointer = nullptr;
  const Lock lock = Guard();
  *pointer = reinterpret_cast<void*>(mlusim::Allocate(where, bytes)->address);
}

void Free(void* pointer, bool host) {
  if (!pointer) return;
  const Lock lock = Guard();
  const std::shared_ptr<Block> block = BlockToFree(pointer, host);
  if (!host && block->device != CurrentCard()) {
    Complain("wrong-device", Fault::kWrongDevice,
             Text(block->Describe(), " is freed while the current card is ", CurrentCard()));
  }
  // The library frees at once and waits for nothing.
  const std::string conflict = HostConflict({block, 0, block->bytes}, true, "the memory to free");
  if (!conflict.empty()) Complain("freed-in-use", Fault::kQueueFailed, conflict);
  Forget(block);
}

}  // namespace

void AllocateOnCard(void** pointer, std::size_t bytes) {
  if (bytes == 0) {
    // Versions differ in what they do; no caller may rely on one of them.
    throw Misuse("bad-argument", Fault::kInvalidArgument, "an allocation of 0 bytes");
  }
  Allocate(pointer, bytes, CurrentCard());
}

void FreeOnCard(void* pointer) { Free(pointer, false); }

void AllocateOnHost(void** pointer, std::size_t bytes) {
  CurrentCard();
  *Needed(pointer, "the pointer") = nullptr;
  if (bytes > 0) Allocate(pointer, bytes, kHost);
}

void DescribePointer(void* record, const void* pointer) {
  struct Attributes {
    int kind;
    int card;
    std::size_t bytes;
    void* on_card;
    void* on_host;
  };
  const Lock lock = Guard();
  const std::shared_ptr<Block> block = BlockAt(Needed(pointer, "the pointer"));
  auto* address = const_cast<void*>(pointer);
  Attributes found{0, -1, 0, nullptr, address};
  if (block && !block->freed) {
    const bool pinned = block->device == kHost;
    found = {pinned ? 1 : 2, pinned ? CurrentCard() : block->device, block->bytes,
             pinned ? nullptr : address, pinned ? address : nullptr};
  }
  *static_cast<Attributes*>(Needed(record, "the record")) = found;
}

void FreeOnHost(void* pointer) { Free(pointer, true); }

}  // namespace mlusim::runtime
