// From Python's arguments to those of a vendor function: one Slot for each parameter, chosen by its
// C type.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "object.h"

namespace headrace::cambricon {

namespace py = pybind11;

// Takes them one after another, and names the one that does not fit.
class Arguments {
 public:
  Arguments(std::string call, py::args values)
      : call_(std::move(call)), values_(std::move(values)) {}

  py::handle Next() {
    if (next_ >= values_.size())
      Refuse("it takes more than " + std::to_string(values_.size()) + " arguments");
    return values_[next_++];
  }

  template <typename T>
  T Take(const char* what) {
    const py::handle value = Next();
    try {
      return value.cast<T>();
    } catch (const py::cast_error&) {
      Misfit(value, what);
    }
  }

  // None gives nothing.
  template <typename T>
  std::optional<T> TakeOptional(const char* what) {
    if (next_ < values_.size() && values_[next_].is_none()) {
      ++next_;
      return std::nullopt;
    }
    return Take<T>(what);
  }

  void Finish() const {
    if (next_ < values_.size()) {
      Refuse("it takes " + std::to_string(next_) + " arguments, not " +
             std::to_string(values_.size()));
    }
  }

  [[noreturn]] void Misfit(py::handle value, const char* what) const {
    Refuse("argument " + std::to_string(next_) + " is " + py::repr(value).cast<std::string>() +
           "; it must be " + what);
  }

 private:
  [[noreturn]] void Refuse(const std::string& why) const {
    throw py::type_error(call_ + ": " + why);
  }

  std::string call_;
  py::args values_;
  std::size_t next_ = 0;
};

// What it holds lives as long as the call that it is an argument of.
template <typename T>
struct Slot;

// Given by the stream that the call goes to.
template <>
struct Slot<cnnlHandle_t> {
  explicit Slot(Arguments&) {}
  cnnlHandle_t Get(cnnlHandle_t handle) { return handle; }
};

template <typename T>
struct NumberSlot {
  explicit NumberSlot(Arguments& arguments) : value(arguments.Take<T>("a number that fits")) {}
  T Get(cnnlHandle_t) { return value; }
  T value;
};
template <>
struct Slot<int> : NumberSlot<int> {
  using NumberSlot::NumberSlot;
};
template <>
struct Slot<std::uint32_t> : NumberSlot<std::uint32_t> {
  using NumberSlot::NumberSlot;
};
template <>
struct Slot<std::size_t> : NumberSlot<std::size_t> {
  using NumberSlot::NumberSlot;
};
template <>
struct Slot<float> : NumberSlot<float> {
  using NumberSlot::NumberSlot;
};
template <>
struct Slot<bool> : NumberSlot<bool> {
  using NumberSlot::NumberSlot;
};

// An address on the device, or None.
template <>
struct Slot<void*> {
  explicit Slot(Arguments& arguments)
      : address(arguments.TakeOptional<std::uintptr_t>("an address or None").value_or(0)) {}
  void* Get(cnnlHandle_t) { return reinterpret_cast<void*>(address); }
  std::uintptr_t address;
};

// Likewise, or bytes of the host, of which a copy is kept.
template <>
struct Slot<const void*> {
  explicit Slot(Arguments& arguments) {
    const py::handle value = arguments.Next();
    if (value.is_none()) return;
    if (py::isinstance<py::bytes>(value)) {
      bytes = value.cast<std::string>();
      return;
    }
    try {
      address = value.cast<std::uintptr_t>();
    } catch (const py::cast_error&) {
      arguments.Misfit(value, "an address, bytes or None");
    }
  }
  const void* Get(cnnlHandle_t) {
    return bytes ? static_cast<const void*>(bytes->data()) : reinterpret_cast<const void*>(address);
  }
  std::uintptr_t address = 0;
  std::optional<std::string> bytes;
};

template <typename T>
struct ArraySlot {
  explicit ArraySlot(Arguments& arguments)
      : values(arguments.TakeOptional<std::vector<T>>("a list of numbers or None")) {}
  const T* Get(cnnlHandle_t) { return values ? values->data() : nullptr; }
  std::optional<std::vector<T>> values;
};
template <>
struct Slot<const int*> : ArraySlot<int> {
  using ArraySlot::ArraySlot;
};
template <>
struct Slot<const std::int64_t*> : ArraySlot<std::int64_t> {
  using ArraySlot::ArraySlot;
};

template <>
struct Slot<const void* const*> {
  explicit Slot(Arguments& arguments) {
    for (const std::uintptr_t address :
         arguments.Take<std::vector<std::uintptr_t>>("a list of addresses")) {
      values.push_back(reinterpret_cast<const void*>(address));
    }
  }
  const void* const* Get(cnnlHandle_t) { return values.data(); }
  std::vector<const void*> values;
};

// One number that the function fills in: no argument, but a result.
template <typename T>
struct ResultSlot {
  static constexpr bool kIsResult = true;
  explicit ResultSlot(Arguments&) {}
  T* Get(cnnlHandle_t) { return &value; }
  T value{};
};
template <>
struct Slot<int*> : ResultSlot<int> {
  using ResultSlot::ResultSlot;
};
template <>
struct Slot<std::size_t*> : ResultSlot<std::size_t> {
  using ResultSlot::ResultSlot;
};
template <typename S>
constexpr auto IsResult(int) -> decltype(S::kIsResult) {
  return true;
}
template <typename S>
constexpr bool IsResult(...) {
  return false;
}

// An object, or None; kept alive with the call.
template <typename T>
struct ObjectSlot {
  static T Of(const std::shared_ptr<Object>& object, Arguments& arguments, const char* type) {
    if (object->type() != type) arguments.Misfit(py::cast(object), type);
    return static_cast<T>(object->value());
  }
};
#define OBJECT(type, creators, destroyers)                                                    \
  template <>                                                                                 \
  struct Slot<type> {                                                                         \
    explicit Slot(Arguments& arguments)                                                       \
        : object(arguments.TakeOptional<std::shared_ptr<Object>>(#type " or None")            \
                     .value_or(nullptr)) {                                                    \
      if (object) ObjectSlot<type>::Of(object, arguments, #type);                             \
    }                                                                                         \
    type Get(cnnlHandle_t) { return object ? static_cast<type>(object->value()) : nullptr; }  \
    std::shared_ptr<Object> object;                                                           \
  };                                                                                          \
  template <>                                                                                 \
  struct Slot<const type*> {                                                                  \
    explicit Slot(Arguments& arguments)                                                       \
        : objects(arguments.Take<std::vector<std::shared_ptr<Object>>>("a list of " #type)) { \
      for (const auto& object : objects) {                                                    \
        values.push_back(ObjectSlot<type>::Of(object, arguments, #type));                     \
      }                                                                                       \
    }                                                                                         \
    const type* Get(cnnlHandle_t) { return values.data(); }                                   \
    std::vector<std::shared_ptr<Object>> objects;                                             \
    std::vector<type> values;                                                                 \
  };
#include "api/objects.inc"
#undef OBJECT

}  // namespace headrace::cambricon
