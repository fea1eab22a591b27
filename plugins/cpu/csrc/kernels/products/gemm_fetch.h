// What a product will read and write soon, fetched where the processor does not foresee it.
#pragma once

#include "kernels/machine/address.h"
#include "kernels/products/gemm.h"
#include "kernels/products/gemm_tile.h"

namespace headrace::cpu::HEADRACE_ISA {

constexpr Size kCacheLine = kCacheLineBytes / Size{sizeof(float)};

// Fetches what the next rows read and these do not. Rows go by in tiles, some floats of each at a
// time, which the processor does not foresee. It is their last segment: of an image, the pixels
// below. Behind the last row there may be nothing, which a fetch may ask for.
HEADRACE_INLINE void FetchRows(const Rows& rows, const float* const* starts, int height,
                               Size offset) {
  const float* const* last = starts + (rows.segments - 1) * kMostRows;
  const auto apart = Address(last[1]) - Address(last[0]);
  for (int r = 0; r < height; ++r) {
    const auto from = Moved(Address(last[r]) + static_cast<std::uintptr_t>(height) * apart, offset);
    for (Size k = 0; k < rows.length; k += kCacheLine) Fetch(Moved(from, k));
  }
}

// Floats from a result to the one that is fetched: a write waits until its cache line is there.
constexpr Size kResultsAhead = 1024;

template <int kPanels>
HEADRACE_INLINE void FetchResults(const Tile& tile, int height) {
  for (int r = 0; r < height; ++r) {
    const auto first = Moved(Address(tile.y + r * tile.y_stride), kResultsAhead);
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) FetchToWrite(Moved(first, p * kPanel));
  }
}

}  // namespace headrace::cpu::HEADRACE_ISA
