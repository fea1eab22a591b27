// Products of bytes both sides of which are computed: the right ones are packed in each launch.
#pragma once

#include <vector>

#include "kernels/quantized/byte_pack.h"

namespace headrace::cpu {

struct ByteBatch {
  ByteMatrices right;
  const void* zero;  // of the right matrices, as their bytes: one, or one for each column; or none
  bool zero_of_each;
  std::int8_t* panels;  // of all right matrices, and the sums of their columns
  std::int32_t* sums;
  std::int32_t* zeros;  // [columns]
  // Of these panels and sums. Whether they have `zeros` is for a launch to say.
  std::vector<ByteProduct> products;
};

// With all threads. Packs what is on the right, and does all products.
void Multiply(ByteBatch* batch);

}  // namespace headrace::cpu
