#include "object.h"

#include <sys/mman.h>

#include <unordered_map>

namespace mlusim {
namespace {

constexpr std::size_t kRange = std::size_t{1} << 36;
constexpr std::size_t kStep = 16;

struct Objects {
  std::uintptr_t base;
  std::uintptr_t next;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> live;
  std::map<std::string, std::uint64_t> counts;

  Objects() {
    void* range =
        mmap(nullptr, kRange, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw Failure(Fault::kSystem, "cannot reserve address space");
    base = next = reinterpret_cast<std::uintptr_t>(range);
  }
};

Objects& TheObjects() {
  static Objects& objects = *new Objects;
  return objects;
}

}  // namespace

void* Register(std::shared_ptr<Object> object) {
  Objects& objects = TheObjects();
  // The first value stays unused.
  objects.next += kStep;
  object->value = reinterpret_cast<void*>(objects.next);
  object->number = ++objects.counts[object->Kind()];
  object->made_by = CallScope::Name();
  objects.live[objects.next] = object;
  return object->value;
}

bool IsObjectValue(const void* value) {
  const auto address = reinterpret_cast<std::uintptr_t>(value);
  return address > TheObjects().base && address <= TheObjects().next;
}

std::shared_ptr<Object> Find(const void* value, const char* kind) {
  if (!value) throw Misuse("null-handle", Fault::kInvalidArgument, Text("the ", kind, " is NULL"));
  const auto found = TheObjects().live.find(reinterpret_cast<std::uintptr_t>(value));
  if (found != TheObjects().live.end()) return found->second;
  if (IsObjectValue(value)) {
    throw Misuse("destroyed-object", Fault::kInvalidArgument,
                 Text("the ", kind, " (", value, ") was destroyed before"));
  }
  throw Misuse("wild-handle", Fault::kInvalidArgument,
               Text(value, " is no ", kind, " that this library gave"));
}

void Unregister(const std::shared_ptr<Object>& object) {
  TheObjects().live.erase(reinterpret_cast<std::uintptr_t>(object->value));
}

std::map<std::string, std::size_t> LiveObjects() {
  std::map<std::string, std::size_t> live;
  for (const auto& [value, object] : TheObjects().live) ++live[object->Kind()];
  return live;
}

std::shared_ptr<Object> FirstLive(const std::string& kind) {
  std::shared_ptr<Object> first;
  for (const auto& [value, object] : TheObjects().live) {
    if (kind == object->Kind() && (!first || object->number < first->number)) first = object;
  }
  return first;
}

}  // namespace mlusim
