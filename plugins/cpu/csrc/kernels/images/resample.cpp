#include "kernels/images/resample.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"
#include "kernels/moves/transpose.h"

namespace headrace::cpu {
namespace {

// Multiplications that are worth a part of their own.
constexpr Size kPartWork = 1 << 15;

// Where there is nothing to go along but the axis itself, so many of its lines are turned to lie
// beside each other.
constexpr Size kTile = 16;

// Elements that are turned back at once.
constexpr Size kBack = 64;

// An inner axis that is shorter is no vector.
constexpr Size kShortest = 8;

template <class T>
void Turn(const T* from, Size from_step, T* to, Size to_step, Size rows, Size columns) {
  constexpr Size kItem = sizeof(T);
  Transpose(reinterpret_cast<const char*>(from), from_step * kItem, reinterpret_cast<char*>(to),
            to_step * kItem, rows, columns, kItem);
}

// x: X[rows, axis.length] to y: Y[rows, axis.count], at most kTile rows. Of x, no more is turned at
// once than `kBack` elements of y are made of.
template <class X, class Y>
void ResampleTile(const Resample<SumOf<X>>& axis, const X* x, Y* y, Size rows) {
  const Resampled<X, Y>& lines = Resamples();
  for (Size i = 0; i < axis.count; i += kBack) {
    const Size count = std::min(kBack, axis.count - i);
    const std::int32_t* sources = axis.sources.data() + i * axis.taps;
    const auto [least, most] = std::minmax_element(sources, sources + count * axis.taps);
    const Size first = *least, length = *most - first + 1;
    const Size made_bytes = kBack * kTile * Size{sizeof(Y)};
    const Size bytes = made_bytes + length * rows * Size{sizeof(X)};
    char* const scratch = static_cast<char*>(ThreadScratch(static_cast<std::size_t>(bytes)));
    Y* const made = reinterpret_cast<Y*>(scratch);
    X* const turned = reinterpret_cast<X*>(scratch + made_bytes);
    for (Size j = 0; j < length; j += kBack) {
      Turn(x + first + j, axis.length, turned + j * rows, rows, std::min(kBack, length - j), rows);
    }
    lines.run({first, rows, rows, count, rows, axis.taps, sources},
              axis.weights.data() + i * axis.taps, turned, made);
    Turn(made, rows, y + i, axis.count, rows, count);
  }
}

template <class X, class Y>
void ResampleTiles(const Resample<SumOf<X>>& axis, const X* x, Y* y) {
  const Size tiles = CeilDiv(axis.outer, kTile), work = axis.taps * axis.count * kTile;
  ParallelFor(tiles, GrainOf(kPartWork, work), [&](Size begin, Size end) {
    for (Size tile = begin; tile < end; ++tile) {
      const Size row = tile * kTile;
      ResampleTile(axis, x + row * axis.length, y + row * axis.count,
                   std::min(kTile, axis.outer - row));
    }
  });
}

}  // namespace

template <class S>
void Resample<S>::Flatten() {
  constexpr Size kMost = std::numeric_limits<std::int32_t>::max();
  if (inner >= kShortest || inner <= 1 || length * inner > kMost) return;
  std::vector<std::int32_t> places;
  std::vector<S> factors;
  for (Size i = 0; i < count; ++i) {
    const auto first = static_cast<std::ptrdiff_t>(i * taps), last = first + taps;
    for (Size j = 0; j < inner; ++j) {
      for (auto k = first; k < last; ++k) {
        const Size place = sources[static_cast<std::size_t>(k)] * inner + j;
        places.push_back(static_cast<std::int32_t>(place));
      }
      factors.insert(factors.end(), weights.begin() + first, weights.begin() + last);
    }
  }
  sources = std::move(places);
  weights = std::move(factors);
  length *= inner;
  count *= inner;
  inner = 1;
}

template struct Resample<float>;
template struct Resample<double>;

template <class X, class Y>
void Interpolate(const Resample<SumOf<X>>& axis, const X* x, Y* y) {
  if (axis.inner == 0 || axis.count == 0) return;
  if (axis.inner == 1) return ResampleTiles(axis, x, y);
  const Resampled<X, Y>& lines = Resamples();
  const Size parts = axis.outer * axis.count, work = axis.taps * axis.inner;
  ParallelFor(parts, GrainOf(kPartWork, work), [&](Size begin, Size end) {
    for (Size part = begin; part < end;) {
      const Size o = part / axis.count, i = part % axis.count;
      const Size count = std::min(axis.count - i, end - part);
      lines.run({0, axis.inner, axis.inner, count, axis.inner, axis.taps,
                 axis.sources.data() + i * axis.taps},
                axis.weights.data() + i * axis.taps, x + o * axis.length * axis.inner,
                y + part * axis.inner);
      part += count;
    }
  });
}

#define HEADRACE_INTERPOLATE(X, Y) \
  template void Interpolate(const Resample<SumOf<X>>&, const X*, Y*);
HEADRACE_INTERPOLATE(float, float)
HEADRACE_RESAMPLED_IN_DOUBLES(HEADRACE_INTERPOLATE)
#undef HEADRACE_INTERPOLATE

}  // namespace headrace::cpu
