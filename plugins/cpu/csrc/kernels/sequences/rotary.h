// Rotary embeddings: where a step stands turns pairs of its numbers.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// y = x with pairs of its numbers turned, which lie `pairs` apart, or are neighbours.
struct Rotation {
  Size batch, heads, steps, size, pairs;
  bool interleaved;
  const float* x;    // [batch, heads, steps, size]
  const float* cos;  // [batch or 1, steps, pairs], with the step below between batches
  const float* sin;
  Size angles_step;
  float* y;  // may be x
};

// With all threads.
void Rotate(const Rotation& rotation);

struct RotaryTable {
  // One step of one head: y = x, turned.
  void (*rotate)(const Rotation& r, const float* x, const float* cos, const float* sin, float* y);
};
HEADRACE_TABLE(RotaryTable, RotaryRows)

}  // namespace headrace::cpu
