#include "kernels/sequences/rotary.h"

#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

constexpr Size kPartNumbers = 1 << 12;  // worth a part of their own

}  // namespace

void Rotate(const Rotation& r) {
  const Size grain = GrainOf(kPartNumbers, r.steps * r.size);
  ParallelFor(r.batch * r.heads, grain, [&](Size begin, Size end) {
    for (Size i = begin; i < end; ++i) {
      const Size angles = i / r.heads * r.angles_step;
      for (Size step = 0; step < r.steps; ++step) {
        const Size at = (i * r.steps + step) * r.size, angle = angles + step * r.pairs;
        RotaryRows().rotate(r, r.x + at, r.cos + angle, r.sin + angle, r.y + at);
      }
    }
  });
}

}  // namespace headrace::cpu
