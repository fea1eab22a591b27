// How a descriptor of an op is created and destroyed.
#pragma once

#include <memory>

#include "../core/object.h"
#include "../core/state.h"
#include "export.h"

namespace mlusim::network {

template <typename T>
void CreateObject(void** value) {
  Needed(value, "the descriptor");
  const Lock lock = Guard();
  *value = Register(std::make_shared<T>());
}

template <typename T>
void DestroyObject(void* value) {
  const Lock lock = Guard();
  Unregister(Find<T>(value));
}

// Calls with the object, under the lock.
template <typename T, typename Change>
void With(void* value, Change&& change) {
  const Lock lock = Guard();
  change(*Find<T>(value));
}

// A copy, for use while an Op holds the lock. Throws Misuse when it was never set.
template <typename T>
T SetOf(void* value) {
  const std::shared_ptr<T> found = Find<T>(value);
  if (!found->was_set) {
    throw Misuse("unset-descriptor", Fault::kInvalidArgument,
                 Text(found->Describe(), " was never set"));
  }
  return *found;
}

}  // namespace mlusim::network

// A struct that is an Object with the words of its kind.
#define MLUSIM_OBJECT(words)                  \
  static constexpr const char* kKind = words; \
  const char* Kind() const override { return kKind; }

#define MLUSIM_LIFETIME(Type, create, destroy)                   \
  MLUSIM_CNNL(create, (void** value), CreateObject<Type>(value)) \
  MLUSIM_CNNL(destroy, (void* value), DestroyObject<Type>(value))
