// What a caller holds: opaque values that stand for objects. They are never addresses of memory
// that can be read, and never used twice, so a value that was destroyed, or that is of another
// kind, is always recognised.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "report.h"

namespace mlusim {

struct Object {
  virtual ~Object() = default;
  virtual const char* Kind() const = 0;  // as in a sentence: "queue", "tensor descriptor"

  void* value = nullptr;     // what the caller holds
  std::uint64_t number = 0;  // of its kind, from 1
  const char* made_by = "";  // the vendor function

  std::string Describe() const { return Text(Kind(), " ", number); }
};

// All functions: under the lock.

void* Register(std::shared_ptr<Object> object);
// Is the value one that Register() gave, alive or not?
bool IsObjectValue(const void* value);
// Throws Misuse: NULL, destroyed, or not an object.
std::shared_ptr<Object> Find(const void* value, const char* kind);
void Unregister(const std::shared_ptr<Object>& object);
// Live objects by kind.
std::map<std::string, std::size_t> LiveObjects();
std::shared_ptr<Object> FirstLive(const std::string& kind);

template <typename T>
std::shared_ptr<T> Find(const void* value) {
  const std::shared_ptr<Object> object = Find(value, T::kKind);
  const std::shared_ptr<T> typed = std::dynamic_pointer_cast<T>(object);
  if (!typed) {
    throw Misuse("wrong-kind", Fault::kInvalidArgument,
                 Text("a ", T::kKind, " is needed, ", object->Describe(), " was given"));
  }
  return typed;
}

}  // namespace mlusim
