#include "kernels/quantized/byte_batch.h"

namespace headrace::cpu {
namespace {

// Writes the zero points as the right matrices are packed. False if all are zero: then nobody need
// sum up the rows of the left ones.
bool WriteZeros(const ByteBatch& batch) {
  const bool is_signed = batch.right.item == Byte::kInt8;
  const auto* zero = static_cast<const std::uint8_t*>(batch.zero);
  std::int32_t any = 0;
  for (Size c = 0; c < batch.right.columns; ++c) {
    const std::uint8_t* own = zero == nullptr || !batch.zero_of_each ? zero : zero + c;
    batch.zeros[c] = ByteAt(own, is_signed) - (is_signed ? 0 : 128);
    any |= batch.zeros[c];
  }
  return any != 0;
}

}  // namespace

void Multiply(ByteBatch* batch) {
  Pack(batch->right, batch->panels, batch->sums);
  const std::int32_t* zeros = WriteZeros(*batch) ? batch->zeros : nullptr;
  for (ByteProduct& product : batch->products) product.weight_zeros = zeros;
  Multiply(batch->products.data(), static_cast<Size>(batch->products.size()));
}

}  // namespace headrace::cpu
