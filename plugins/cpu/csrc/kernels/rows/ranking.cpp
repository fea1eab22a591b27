#include "kernels/rows/ranking.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <type_traits>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"
#include "kernels/moves/transpose.h"

namespace headrace::cpu {
namespace {

// Elements that are worth a part of their own.
constexpr Size kPartElements = 1 << 13;
// How many candidates are gathered at least, beside the best so far, before these are chosen again.
constexpr Size kCandidates = 1 << 4;
// A line is read as so many columns side by side, when it is long enough; of shorter ones, so many
// are turned to be columns.
constexpr Size kLanes = 32;
constexpr Size kLongLine = 16 * kLanes;

// An element and its place as one number that is greater for what comes first.
template <class T>
struct Ranks {
  using Bits = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;
  // Places take 32 bits: __int128 is what every compiler of 64-bit machines that we build with has.
  using Rank = std::conditional_t<sizeof(T) <= 4, std::uint64_t, unsigned __int128>;
  static constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);

  static Rank Of(T element, Size place, bool largest) {
    Bits bits;
    if constexpr (std::is_floating_point_v<T>) {
      const T number = element + T{0};  // zeros are equal whatever their sign
      std::memcpy(&bits, &number, sizeof bits);
      bits = (bits & kSign) != 0 ? static_cast<Bits>(~bits) : bits | kSign;
      if (std::isnan(element)) bits = static_cast<Bits>(~Bits{0});
    } else {
      bits = static_cast<Bits>(element) ^ kSign;
    }
    if (!largest) bits = static_cast<Bits>(~bits);
    const auto later = static_cast<std::uint32_t>(~static_cast<std::uint32_t>(place));
    return static_cast<Rank>(bits) << 32 | later;
  }

  static Size Place(Rank rank) {
    return static_cast<Size>(static_cast<std::uint32_t>(~static_cast<std::uint32_t>(rank)));
  }
};

// Of one line; ranks has room for the best and the candidates.
template <class T>
void TakeLine(const Best& best, const T* x, typename Ranks<T>::Rank* ranks, Size room, T* values,
              std::int64_t* indices) {
  using Rank = typename Ranks<T>::Rank;
  const std::greater<> first;
  const RankingTable& table = Rankings();
  Size count = 0;
  bool is_bound = false;  // there are as many as are wanted; the last of them is `bound`
  T bound{};
  Rank least = 0;
  for (Size i = 0; i < best.length;) {
    if (is_bound && best.inner == 1) {
      i += table.Extremes<T>::skip(x + i, best.length - i, bound, best.largest);
    }
    for (const Size end = std::min(best.length, i + kRankedBlock); i < end; ++i) {
      const T element = x[i * best.inner];
      if (is_bound & (best.largest ? element <= bound : element >= bound)) continue;
      const Rank rank = Ranks<T>::Of(element, i, best.largest);
      if (rank <= least) continue;  // NaN beside NaN
      ranks[count++] = rank;
      if (count < room) continue;
      std::nth_element(ranks, ranks + best.count - 1, ranks + count, first);
      count = best.count;
      is_bound = true;
      least = ranks[best.count - 1];
      bound = x[Ranks<T>::Place(least) * best.inner];
    }
  }
  if (count > best.count) {
    std::nth_element(ranks, ranks + best.count - 1, ranks + count, first);
  }
  std::sort(ranks, ranks + best.count, first);
  for (Size i = 0; i < best.count; ++i) {
    const Size place = Ranks<T>::Place(ranks[i]);
    values[i * best.inner] = x[place * best.inner];
    indices[i * best.inner] = place;
  }
}

// Where the extremes of `count` short lines stand, at most kLanes.
template <class T>
void FindInLines(const Extreme& e, const T* x, Size count, std::int64_t* y) {
  const auto bytes = static_cast<std::size_t>(e.length * count) * sizeof(T);
  char* const turned = static_cast<char*>(ThreadScratch(bytes));
  constexpr Size kItem = sizeof(T);
  Transpose(reinterpret_cast<const char*>(x), e.length * kItem, turned, count * kItem, e.length,
            count, kItem);
  const Extremes<T>& table = Rankings();
  table.find(reinterpret_cast<const T*>(turned), e.length, count, count, y, e.largest, e.last);
}

// Where the extreme of a long line of elements side by side stands.
template <class T>
std::int64_t FindInLine(const Extreme& e, const T* x) {
  const Extremes<T>& table = Rankings();
  std::int64_t found = 0;
  // Those of the columns, in order, and what is left over of the line.
  std::int64_t places[2 * kLanes];
  T elements[2 * kLanes];
  const Size rows = e.length / kLanes, rest = e.length % kLanes;
  table.find(x, rows, kLanes, kLanes, places, e.largest, e.last);
  for (Size lane = 0; lane < kLanes; ++lane) places[lane] = places[lane] * kLanes + lane;
  std::sort(places, places + kLanes);
  for (Size i = 0; i < rest; ++i) places[kLanes + i] = rows * kLanes + i;
  for (Size i = 0; i < kLanes + rest; ++i) elements[i] = x[places[i]];
  table.find(elements, kLanes + rest, 1, 1, &found, e.largest, e.last);
  return places[found];
}

template <class T>
void FindInAllLines(const Extreme& e, const T* x, std::int64_t* y) {
  const Size together = e.length < kLongLine ? kLanes : 1;
  const Size parts = CeilDiv(e.outer, together), work = e.length * together;
  ParallelFor(parts, GrainOf(kPartElements, work), [&](Size begin, Size end) {
    for (Size line = begin * together; line < std::min(e.outer, end * together); line += together) {
      const T* const from = x + line * e.length;
      if (together == 1) {
        y[line] = FindInLine(e, from);
      } else {
        FindInLines(e, from, std::min(together, e.outer - line), y + line);
      }
    }
  });
}

}  // namespace

template <class T>
void TakeBest(const Best& best, const T* x, T* values, std::int64_t* indices) {
  using Rank = typename Ranks<T>::Rank;
  const Size room = std::min(best.length, best.count + std::max(best.count, kCandidates));
  const auto bytes = static_cast<std::size_t>(room) * sizeof(Rank);
  const Size grain = GrainOf(kPartElements, best.length);
  ParallelFor(best.outer * best.inner, grain, [&](Size begin, Size end) {
    auto* ranks = static_cast<Rank*>(ThreadScratch(bytes));
    for (Size line = begin; line < end; ++line) {
      const Size outer = line / best.inner, column = line % best.inner;
      const Size to = outer * best.count * best.inner + column;
      TakeLine(best, x + outer * best.length * best.inner + column, ranks, room, values + to,
               indices + to);
    }
  });
}

template <class T>
void FindExtreme(const Extreme& extreme, const T* x, std::int64_t* y) {
  const Extreme& e = extreme;
  if (e.inner == 1) return FindInAllLines(e, x, y);
  const Extremes<T>& table = Rankings();
  const Size blocks = CeilDiv(e.inner, kRankedColumns);
  const Size work = e.length * std::min(e.inner, kRankedColumns);
  const Size grain = GrainOf(kPartElements, work);
  ParallelFor(e.outer * blocks, grain, [&](Size begin, Size end) {
    for (Size part = begin; part < end; ++part) {
      const Size outer = part / blocks, column = part % blocks * kRankedColumns;
      table.find(x + outer * e.length * e.inner + column, e.length, e.inner,
                 std::min(kRankedColumns, e.inner - column), y + outer * e.inner + column,
                 e.largest, e.last);
    }
  });
}

#define HEADRACE_RANKING(T)                                         \
  template void TakeBest(const Best&, const T*, T*, std::int64_t*); \
  template void FindExtreme(const Extreme&, const T*, std::int64_t*);
HEADRACE_RANKING(float)
HEADRACE_RANKING(double)
HEADRACE_RANKING(std::int8_t)
HEADRACE_RANKING(std::uint8_t)
HEADRACE_RANKING(std::int32_t)
HEADRACE_RANKING(std::int64_t)
#undef HEADRACE_RANKING

}  // namespace headrace::cpu
