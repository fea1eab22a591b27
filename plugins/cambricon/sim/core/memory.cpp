#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "report.h"
#include "settings.h"

namespace mlusim {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t RoundUp(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

unsigned char* Reserve(std::size_t bytes) {
  void* range = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw Failure(Fault::kSystem, "cannot reserve address space");
  return static_cast<unsigned char*>(range);
}

// The addresses of one card: [window, window + bytes) is handed out, [storage, ...) holds the
// bytes.
struct Space {
  std::uintptr_t window = 0;
  unsigned char* storage = nullptr;
  std::size_t bytes = 0;
  std::size_t next = 0;  // offset of the first address that was never handed out
  std::size_t used = 0;  // of live blocks
};

struct Memory {
  std::vector<Space> cards;
  // Live and freed ones, by address: a freed block keeps its addresses, so that a late use of it is
  // told from a wild pointer.
  std::map<std::uintptr_t, std::shared_ptr<Block>> blocks;
  std::uint64_t count = 0;

  Memory() {
    for (int card = 0; card < TheSettings().card_count; ++card) {
      Space space;
      // Address space is plentiful; this much is handed out before freed addresses come again.
      space.bytes = std::max(RoundUp(TheSettings().memory_bytes) * 8, std::size_t{1} << 32);
      space.window = reinterpret_cast<std::uintptr_t>(Reserve(space.bytes));
      space.storage = Reserve(space.bytes);
      cards.push_back(space);
    }
  }
};

Memory& TheMemory() {
  static Memory& memory = *new Memory;
  return memory;
}

// An offset with room for `bytes` and an empty page behind them.
std::size_t FindRoom(Memory& memory, Space& space, std::size_t bytes) {
  const std::size_t needed = RoundUp(bytes) + kPage;
  if (space.next + needed <= space.bytes) {
    const std::size_t offset = space.next;
    space.next += needed;
    return offset;
  }
  // All addresses were used once. Those of freed blocks come again; only now can a stale pointer
  // pass for a fresh one.
  for (auto item = memory.blocks.begin(); item != memory.blocks.end();) {
    const Block& block = *item->second;
    item = block.freed && block.remains.expired() ? memory.blocks.erase(item) : std::next(item);
  }
  std::size_t offset = 0;
  for (const auto& [address, block] : memory.blocks) {
    if (address < space.window || address >= space.window + space.bytes) continue;
    const std::size_t begin = address - space.window;
    if (begin >= offset + needed) return offset;
    offset = begin + RoundUp(block->bytes) + kPage;
  }
  if (offset + needed <= space.bytes) return offset;
  throw Failure(Fault::kNoMemory, "the addresses of the card are used up");
}

std::string Hex(const void* pointer) { return Text(pointer); }

}  // namespace

Block::~Block() {
  if (!storage) return;
  if (device == kHost) {
    munmap(storage, RoundUp(bytes));
  } else {
    madvise(storage, RoundUp(bytes), MADV_DONTNEED);
    mprotect(storage, RoundUp(bytes), PROT_NONE);
  }
}

std::string Block::Describe() const {
  const std::string where =
      device == kHost ? std::string("page-locked host memory") : Text("memory of card ", device);
  return Text("block ", number, " (", bytes, " bytes of ", where, ", from ", made_by, ")");
}

std::shared_ptr<Block> Allocate(int device, std::size_t bytes) {
  Memory& memory = TheMemory();
  auto block = std::make_shared<Block>();
  if (device == kHost) {
    void* range = mmap(nullptr, RoundUp(bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) {
      throw Failure(Fault::kNoHostMemory, Text("the host has no ", bytes, " bytes"));
    }
    block->storage = static_cast<unsigned char*>(range);
    block->address = reinterpret_cast<std::uintptr_t>(range);
  } else {
    Space& space = memory.cards.at(device);
    if (RoundUp(bytes) < bytes || space.used + RoundUp(bytes) > TheSettings().memory_bytes) {
      throw Failure(Fault::kNoMemory, Text("card ", device, " has no ", bytes, " bytes free"));
    }
    const std::size_t offset = FindRoom(memory, space, bytes);
    block->storage = space.storage + offset;
    if (mprotect(block->storage, RoundUp(bytes), PROT_READ | PROT_WRITE) != 0) {
      throw Failure(Fault::kSystem, "the process may have no further mapping");
    }
    block->address = space.window + offset;
    space.used += RoundUp(bytes);
  }
  block->device = device;
  block->bytes = bytes;
  block->number = ++memory.count;
  block->made_by = CallScope::Name();
  std::memset(block->storage, kPoison, RoundUp(bytes));
  memory.blocks[block->address] = block;
  return block;
}

std::shared_ptr<Block> BlockAt(const void* pointer) {
  Memory& memory = TheMemory();
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  auto after = memory.blocks.upper_bound(address);
  if (after == memory.blocks.begin()) return nullptr;
  const std::shared_ptr<Block>& block = std::prev(after)->second;
  return address < block->address + std::max<std::size_t>(block->bytes, 1) ? block : nullptr;
}

bool IsCardAddress(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  for (const Space& space : TheMemory().cards) {
    if (address >= space.window && address < space.window + space.bytes) return true;
  }
  return false;
}

Span DeviceSpan(const void* pointer, std::size_t bytes, const char* role) {
  if (!pointer) throw Misuse("null-pointer", Fault::kInvalidArgument, Text(role, " is NULL"));
  const std::shared_ptr<Block> block = BlockAt(pointer);
  if (!block || block->device == kHost) {
    if (IsCardAddress(pointer)) {
      throw Misuse("out-of-bounds", Fault::kInvalidArgument,
                   Text(role, " (", Hex(pointer), ") lies outside every block of its card"));
    }
    throw Misuse("host-pointer", Fault::kInvalidArgument,
                 Text(role, " (", Hex(pointer), ") is host memory; memory of a card is needed"));
  }
  if (block->freed) {
    throw Misuse("use-after-free", Fault::kInvalidArgument,
                 Text(role, " points into ", block->Describe(), ", which was freed"));
  }
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(pointer) - block->address;
  if (bytes > block->bytes - offset) {
    throw Misuse(
        "out-of-bounds", Fault::kInvalidArgument,
        Text(role, " needs ", bytes, " bytes at offset ", offset, " of ", block->Describe()));
  }
  return {block, offset, bytes};
}

std::shared_ptr<Block> BlockToFree(const void* pointer, bool host) {
  const std::shared_ptr<Block> block = BlockAt(pointer);
  if (!block) {
    throw Misuse("wild-free", Fault::kDriverCall,
                 Text(Hex(pointer), " is no memory that this library gave"));
  }
  if (block->freed) {
    throw Misuse("double-free", Fault::kDriverCall, Text(block->Describe(), " was freed before"));
  }
  if ((block->device == kHost) != host) {
    throw Misuse("wild-free", Fault::kDriverCall,
                 Text(block->Describe(), " belongs to ", host ? "cnrtFree" : "cnrtFreeHost"));
  }
  if (block->address != reinterpret_cast<std::uintptr_t>(pointer)) {
    throw Misuse("wild-free", Fault::kDriverCall,
                 Text(Hex(pointer), " is not the first byte of ", block->Describe()));
  }
  return block;
}

void Forget(const std::shared_ptr<Block>& block) {
  block->freed = true;
  if (block->device == kHost) {
    TheMemory().blocks.erase(block->address);
    return;
  }
  TheMemory().cards.at(block->device).used -= RoundUp(block->bytes);
  // A copy without bytes keeps the addresses; tasks that still name the block keep its bytes.
  auto grave = std::make_shared<Block>();
  grave->number = block->number;
  grave->device = block->device;
  grave->address = block->address;
  grave->bytes = block->bytes;
  grave->freed = true;
  grave->made_by = block->made_by;
  grave->remains = block;
  TheMemory().blocks[block->address] = grave;
}

MemoryUse UseOf(int device) {
  const std::size_t total = TheSettings().memory_bytes;
  return {total - TheMemory().cards.at(device).used, total};
}

Live LiveBlocks(bool host) {
  Live live{0, 0};
  for (const auto& [address, block] : TheMemory().blocks) {
    if (block->freed || (block->device == kHost) != host) continue;
    ++live.blocks;
    live.bytes += block->bytes;
  }
  return live;
}

}  // namespace mlusim
