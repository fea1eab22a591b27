// Tensor descriptors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../core/object.h"
#include "types.h"

namespace mlusim::network {

using Dims = std::vector<std::int64_t>;

// What a reset takes back.
struct Description {
  int layout = ARRAY;
  int type = kFloat;
  Dims dims;
  Dims strides;  // in elements
  int position = 0;
  float scale = 1;
  int offset = 0;
  bool quantized = false;  // position was set
  int onchip_type = kInvalid;
  int pointer_mode = 1;  // CNNL_POINTER_MODE_DEVICE
  bool was_set = false;
};

struct Tensor : Object, Description {
  static constexpr const char* kKind = "tensor descriptor";
  const char* Kind() const override { return kKind; }

  int rank() const { return static_cast<int>(dims.size()); }
  std::int64_t Count() const;
  // Of the smallest range that holds every element, strides included.
  std::size_t ExtentBytes() const;
  bool Contiguous() const;
  std::string DescribeShape() const;
};

Dims ContiguousStrides(const Dims& dims);

// What a descriptor of so many elements, one after another, would say.
Tensor VectorOf(int type, std::int64_t count);

}  // namespace mlusim::network
