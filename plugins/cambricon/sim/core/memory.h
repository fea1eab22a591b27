// Memory of the cards and page-locked memory of the host. An address of a card lies in a range that
// the process may not touch, so a dereference on the host faults; the bytes live in a second range,
// at a constant distance, that only tasks and copies use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "order.h"

namespace mlusim {

inline constexpr int kHost = -1;
// Fresh and freed memory is full of this: NaN as a float or a half, -1 as an integer.
inline constexpr unsigned char kPoison = 0xFF;

// One allocation. Its bytes stay until the last task that names it has run.
struct Block {
  ~Block();

  std::uint64_t number = 0;
  int device = kHost;  // kHost: page-locked
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  unsigned char* storage = nullptr;
  bool freed = false;
  const char* made_by = "";
  std::weak_ptr<Block> remains;  // of a freed block: the bytes, while a task still needs them
  Accesses accesses;

  std::string Describe() const;
};

// A checked range of a block.
struct Span {
  std::shared_ptr<Block> block;
  std::size_t offset = 0;
  std::size_t bytes = 0;

  unsigned char* data() const { return block ? block->storage + offset : nullptr; }
};

// All functions: under the lock.

// Throws Failure(kNoMemory) when the card, or the limit of the host, is full.
std::shared_ptr<Block> Allocate(int device, std::size_t bytes);
// The live or freed block whose range holds the address; null if the address is nobody's.
std::shared_ptr<Block> BlockAt(const void* pointer);
// Lies it among the addresses of a card, in a block or not?
bool IsCardAddress(const void* pointer);
// The range [pointer, pointer + bytes) of live memory of a card. Throws Misuse that says what is
// wrong with it; `role` names the argument.
Span DeviceSpan(const void* pointer, std::size_t bytes, const char* role);
// The same for a block that is to be freed: the pointer must be its first byte.
std::shared_ptr<Block> BlockToFree(const void* pointer, bool host);
void Forget(const std::shared_ptr<Block>& block);

struct MemoryUse {
  std::size_t free_bytes, total_bytes;
};
MemoryUse UseOf(int device);
// Live blocks of cards (host false) or of page-locked memory, and their bytes.
struct Live {
  std::size_t blocks, bytes;
};
Live LiveBlocks(bool host);

}  // namespace mlusim
