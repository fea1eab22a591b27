// Images that are read at computed places; float32.
#pragma once

#include <cstdint>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

enum class Padding { kZeros, kBorder, kReflection };

constexpr Size kMostGridAxes = 3;
// Elements along an axis: places are whole numbers of float32 with room to spare.
constexpr Size kMostGridSize = Size{1} << 22;

// As the op `grid_sample` has it. x: [batch, channels, *sizes], grid: [batch, points, axes],
// y: [batch, channels, points].
struct GridSample {
  Size batch, channels, points, axes;
  Size sizes[kMostGridAxes];  // each from 1 to kMostGridSize
  int taps;                   // along an axis: 1, 2 or 4
  Padding padding;
  bool is_aligned, is_normalized;
};

// With all threads.
void SampleGrid(const GridSample& g, const float* x, const float* grid, float* y);

// Points whose places are found before channels are read at them; a whole number of registers.
constexpr Size kGridPoints = 128;

struct GridSampleTable {
  // For the first `count` points of a grid: the elements of a plane that are read, and what they
  // weigh. at, weights: [taps of all axes, kGridPoints]; points that are not there weigh 0.
  void (*places)(const GridSample& g, const float* grid, Size count, std::int32_t* at,
                 float* weights);
  // y[i] = sum over k < taps of weights[k][i] * plane[at[k][i]], for `count` points.
  void (*sum)(const float* plane, const std::int32_t* at, const float* weights, Size taps, float* y,
              Size count);
};
HEADRACE_TABLE(GridSampleTable, GridSamples)

}  // namespace headrace::cpu
