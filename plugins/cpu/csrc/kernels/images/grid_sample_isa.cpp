#include "kernels/images/grid_sample.h"
#include "kernels/machine/simd.h"

// Compiled without contraction: which element is read must not depend on how a product is rounded
// on one machine.
namespace headrace::cpu::HEADRACE_ISA {
namespace {

constexpr int kMostTaps = 4;
constexpr float kCubic = -0.75f;  // the slope of the cubic kernel at 1, as ONNX has it
// Where places end: outside of any image, and products with sizes are finite.
constexpr float kFar = 1073741824.0f;

// What is read along one axis, for sixteen points.
struct Axis {
  V index[kMostTaps];
  V weight[kMostTaps];
};

// Numbers beyond 2^22 have no fraction worth the name.
HEADRACE_INLINE V Floor(V x) {
  const V whole = ToFloats(ToInts(x));
  const V floor = Select(x < whole, whole - Broadcast(1), whole);
  return Select(Abs(x) < Broadcast(4194304.0f), floor, x);
}

// To the nearest, the even one of two.
HEADRACE_INLINE V Round(V x) {
  const V rounder = Broadcast(12582912.0f);
  return Select(Abs(x) < Broadcast(4194304.0f), x + rounder - rounder, x);
}

HEADRACE_INLINE V Clip(V x, float size) {
  return AtMost(AtLeast(x, Broadcast(0)), Broadcast(size - 1));
}

// A place in the image for any place, unless what is outside is 0.
HEADRACE_INLINE V Padded(const GridSample& g, V place, float size) {
  if (g.padding == Padding::kZeros) return place;
  if (g.padding == Padding::kReflection) {
    const V low = Broadcast(g.is_aligned ? 0.0f : -0.5f);
    const float span = g.is_aligned ? size - 1 : size;
    if (span == 0) {
      place = Broadcast(0);
    } else {
      const V both = Broadcast(2 * span), away = Abs(place - low);
      const V along = away - Floor(away / both) * both;
      place = AtMost(both - along, along) + low;
    }
  }
  return Clip(place, size);
}

HEADRACE_INLINE V Inner(V t) {
  return ((Broadcast(kCubic + 2) * t - Broadcast(kCubic + 3)) * (t * t)) + Broadcast(1);
}
HEADRACE_INLINE V Outer(V t) {
  const V sum = (Broadcast(kCubic) * t - Broadcast(5 * kCubic)) * t + Broadcast(8 * kCubic);
  return sum * t - Broadcast(4 * kCubic);
}

HEADRACE_INLINE void Find(const GridSample& g, V unit, float size, Axis& axis) {
  const V one = Broadcast(1);
  unit = Select(unit == unit, unit, Broadcast(-1));
  unit = AtMost(AtLeast(unit, Broadcast(-kFar)), Broadcast(kFar));
  V place = unit;
  if (g.is_normalized) {
    place = (unit + one) * Broadcast((g.is_aligned ? size - 1 : size) / 2);
    if (!g.is_aligned) place = place - Broadcast(0.5f);
  }
  if (g.taps < 4) place = Padded(g, place, size);
  const V floor = g.taps == 1 ? Round(place) : Floor(place);
  const V rest = place - floor, other = one - rest;
  for (int tap = 0; tap < g.taps; ++tap) {
    const int offset = g.taps == 4 ? tap - 1 : tap;
    V index = offset == 0 ? floor : floor + Broadcast(static_cast<float>(offset));
    if (g.taps == 4) index = Padded(g, index, size);
    V weight = one;
    if (g.taps == 2) weight = tap == 0 ? other : rest;
    if (g.taps == 4) {
      weight = tap == 0   ? Outer(rest + one)
               : tap == 1 ? Inner(rest)
               : tap == 2 ? Inner(other)
                          : Outer(other + one);
    }
    const V inside = Clip(index, size);
    if (g.padding == Padding::kZeros) weight = Select(inside == index, weight, Broadcast(0));
    axis.index[tap] = inside;
    axis.weight[tap] = weight;
  }
}

void Places(const GridSample& g, const float* grid, Size count, std::int32_t* at, float* weights) {
  const int first_taps = g.axes == 3 ? g.taps : 1, second_taps = g.axes >= 2 ? g.taps : 1;
  for (Size begin = 0; begin < count; begin += kWidth) {
    const int width = VectorCount(count - begin);
    // The last axis stands last here, and first in the grid.
    Axis axes[kMostGridAxes];
    VI step[kMostGridAxes];
    Size stride = 1;
    for (Size axis = 0; axis < kMostGridAxes; ++axis) {
      Axis& own = axes[kMostGridAxes - 1 - axis];
      step[kMostGridAxes - 1 - axis] = BroadcastInt(static_cast<std::int32_t>(stride));
      if (axis >= g.axes) {
        own.index[0] = Broadcast(0);
        own.weight[0] = Broadcast(1);
        continue;
      }
      float unit[kWidth] = {};
      for (int i = 0; i < width; ++i) unit[i] = grid[(begin + i) * g.axes + axis];
      const Size size = g.sizes[g.axes - 1 - axis];
      Find(g, Load(unit), static_cast<float>(size), own);
      stride *= size;
    }
    float there[kWidth] = {};
    for (int i = 0; i < width; ++i) there[i] = 1;
    const VI is_there = Broadcast(0) < Load(there);
    Size tap = begin;
    for (int i = 0; i < first_taps; ++i) {
      const VI first = ToInts(axes[0].index[i]) * step[0];
      for (int j = 0; j < second_taps; ++j) {
        const VI second = first + ToInts(axes[1].index[j]) * step[1];
        const V weight = axes[0].weight[i] * axes[1].weight[j];
        for (int k = 0; k < g.taps; ++k, tap += kGridPoints) {
          StoreInt(at + tap, (second + ToInts(axes[2].index[k])) & is_there);
          Store(weights + tap, Select(is_there, weight * axes[2].weight[k], Broadcast(0)));
        }
      }
    }
  }
}

HEADRACE_INLINE V Gathered(const float* plane, const std::int32_t* at) {
#if defined(__AVX512F__)
  const __m512i where = _mm512_loadu_si512(at);
  return {{reinterpret_cast<Part>(_mm512_i32gather_ps(where, plane, 4))}};
#elif defined(__AVX2__)
  V r;
  for (int i = 0; i < kParts; ++i) {
    const auto* from = reinterpret_cast<const __m256i*>(at + i * kLanes);
    r.part[i] = reinterpret_cast<Part>(_mm256_i32gather_ps(plane, _mm256_loadu_si256(from), 4));
  }
  return r;
#else
  float read[kWidth];
  for (int i = 0; i < kWidth; ++i) read[i] = plane[at[i]];
  return Load(read);
#endif
}

void Sum(const float* plane, const std::int32_t* at, const float* weights, Size taps, float* y,
         Size count) {
  for (Size begin = 0; begin < count; begin += kWidth) {
    const int width = VectorCount(count - begin);
    V sum = Load(weights + begin) * Gathered(plane, at + begin);
    for (Size tap = 1; tap < taps; ++tap) {
      const Size from = tap * kGridPoints + begin;
      sum = sum + Load(weights + from) * Gathered(plane, at + from);
    }
    StoreSome(y + begin, sum, width);
  }
}

}  // namespace

extern const GridSampleTable kGridSamples = {Places, Sum};

}  // namespace headrace::cpu::HEADRACE_ISA
