#include "kernels/machine/simd.h"
#include "kernels/products/integer_matmul.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

constexpr int kBytes = kLanes * 4;
constexpr int kTall = 4;  // rows of a tile

// Two registers of columns of kRows rows. Unsigned integers wrap around; of signed ones that would
// be undefined.
template <class U, int kRows>
HEADRACE_INLINE void Tile(const IntegerMatrices& m, const U* a, const U* b, U* y) {
  typedef U Register __attribute__((vector_size(kBytes)));
  constexpr Size kEach = kBytes / sizeof(U);
  Register sums[kRows][2] = {};
  for (Size k = 0; k < m.depth; ++k, b += m.columns) {
    Register right[2];
    std::memcpy(right, b, sizeof right);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const U left = a[r * m.depth + k];
      sums[r][0] += left * right[0];
      sums[r][1] += left * right[1];
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) std::memcpy(y + r * m.columns, sums[r], 2 * kEach * sizeof(U));
}

// Columns one by one, of which there are too few for a tile.
template <class U>
void Narrow(const IntegerMatrices& m, const U* a, const U* b, U* y) {
  for (Size j = 0; j < m.columns; ++j) {
    U sum = 0;
    for (Size k = 0; k < m.depth; ++k) sum += a[k] * b[k * m.columns + j];
    y[j] = sum;
  }
}

template <class U, int kRows>
void RowsOf(const IntegerMatrices& m, const U* a, const U* b, U* y) {
  constexpr Size kWide = 2 * kBytes / sizeof(U);
  // The last tile may lie over the one before it.
  for (Size j = 0; j < m.columns; j += kWide) {
    const Size at = j + kWide <= m.columns ? j : m.columns - kWide;
    Tile<U, kRows>(m, a, b + at, y + at);
  }
}

template <class T, class U>
void Rows(const IntegerMatrices& m, const T* a, const T* b, T* y, Size begin, Size end) {
  const auto* left = reinterpret_cast<const U*>(a);
  const auto* right = reinterpret_cast<const U*>(b);
  auto* to = reinterpret_cast<U*>(y);
  constexpr Size kWide = 2 * kBytes / sizeof(U);
  Size row = begin;
  if (m.columns >= kWide) {
    for (; row + kTall <= end; row += kTall) {
      RowsOf<U, kTall>(m, left + row * m.depth, right, to + row * m.columns);
    }
    for (; row < end; ++row) {
      RowsOf<U, 1>(m, left + row * m.depth, right, to + row * m.columns);
    }
  }
  for (; row < end; ++row) Narrow(m, left + row * m.depth, right, to + row * m.columns);
}

}  // namespace

extern const IntegerMatmulTable kIntegerMatmuls = {{Rows<std::int32_t, std::uint32_t>},
                                                   {Rows<std::int64_t, std::uint64_t>}};

}  // namespace headrace::cpu::HEADRACE_ISA
