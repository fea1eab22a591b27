#include "kernels/quantized/byte_pack.h"

#include <algorithm>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Bytes to pack that are worth a part of their own.
constexpr Size kPackedBytes = 1 << 16;

}  // namespace

void Pack(const ByteMatrices& matrices, std::int8_t* panels, std::int32_t* sums) {
  const Size depth = matrices.depth, columns = matrices.columns, wide = BytePacks().columns;
  const Size groups = CeilDiv(columns, wide), quads = Quads(depth) * kQuad;
  const Size packed = PanelCount(columns) * kPanel * quads;
  const std::uint8_t down = matrices.item == Byte::kUint8 ? 128 : 0;
  ParallelFor(
      matrices.count * groups, GrainOf(kPackedBytes, depth * std::min(wide, columns)),
      [&](Size begin, Size end) {
        for (Size i = begin; i < end; ++i) {
          const Size matrix = i / groups, column = i % groups * wide;
          const Size step = matrices.transposed ? column * matrices.stride : column;
          BytePacks().pack(
              {matrices.first + matrix * matrices.apart + step, depth, matrices.stride,
               static_cast<int>(std::min(wide, columns - column)), down, matrices.transposed},
              panels + matrix * packed + column * quads, sums + matrix * columns + column);
        }
      });
}

}  // namespace headrace::cpu
