// One descriptor, or whatever else objects.inc lists, from its creation to its destruction.
#pragma once

#include <memory>
#include <string>

#include "library.h"

namespace headrace::cambricon {

class Object {
 public:
  // `type` is the vendor's name, such as cnnlTensorDescriptor_t.
  Object(std::shared_ptr<const Library> library, std::string type)
      : library_(std::move(library)),
        type_(std::move(type)),
        lifetime_(library_->LifetimeOf(type_)) {
    library_->CheckNetwork(lifetime_.create(&value_), lifetime_.create_name);
  }
  ~Object() { lifetime_.destroy(value_); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  void* value() const { return value_; }
  const std::string& type() const { return type_; }
  const Library& library() const { return *library_; }

 private:
  std::shared_ptr<const Library> library_;
  std::string type_;
  const Library::Lifetime& lifetime_;
  void* value_ = nullptr;
};

}  // namespace headrace::cambricon
