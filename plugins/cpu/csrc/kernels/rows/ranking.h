// The order of elements along an axis: the best of them, and where the extreme stands.
#pragma once

#include <cstdint>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// NaN is larger than all numbers; of equal elements the one with the lower index comes first.
// x: [outer, length, inner], with fewer than 2^31 elements along the axis. T: float, double,
// std::int8_t, std::uint8_t, std::int32_t or std::int64_t. With all threads, each line by one.

// The `count` largest or smallest of each line, best first; values, indices: [outer, count, inner].
struct Best {
  Size outer, length, inner, count;
  bool largest;
};
template <class T>
void TakeBest(const Best& best, const T* x, T* values, std::int64_t* indices);

// Where the largest or smallest of each line stands, or the first NaN; of equal ones, and of NaNs,
// the first or the last. y: [outer, inner].
struct Extreme {
  Size outer, length, inner;
  bool largest, last;
};
template <class T>
void FindExtreme(const Extreme& extreme, const T* x, std::int64_t* y);

// Columns side by side that are looked at together: what is known of them stays in the cache.
constexpr Size kRankedColumns = 128;
constexpr Size kRankedBlock = 64;

template <class T>
struct Extremes {
  // Where the extreme of each of `count` columns of x[length][stride] stands, at most
  // kRankedColumns.
  void (*find)(const T* x, Size length, Size stride, Size count, std::int64_t* y, bool largest,
               bool last);
  // How many elements of x[count], in blocks of kRankedBlock, stand before the first block with one
  // that could come before `bound`: what is skipped is neither NaN nor better.
  Size (*skip)(const T* x, Size count, T bound, bool largest);
};
struct RankingTable : Extremes<float>,
                      Extremes<double>,
                      Extremes<std::int8_t>,
                      Extremes<std::uint8_t>,
                      Extremes<std::int32_t>,
                      Extremes<std::int64_t> {};
HEADRACE_TABLE(RankingTable, Rankings)

}  // namespace headrace::cpu
