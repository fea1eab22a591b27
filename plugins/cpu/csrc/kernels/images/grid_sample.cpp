#include "kernels/images/grid_sample.h"

#include <algorithm>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {

void SampleGrid(const GridSample& g, const float* x, const float* grid, float* y) {
  Size taps = 1, plane = 1;
  for (Size axis = 0; axis < g.axes; ++axis) {
    taps *= g.taps;
    plane *= g.sizes[axis];
  }
  const Size parts = CeilDiv(g.points, kGridPoints);
  const auto bytes = static_cast<std::size_t>(taps * kGridPoints) * 2 * sizeof(float);
  ParallelFor(g.batch * parts, 1, [&](Size begin, Size end) {
    auto* weights = static_cast<float*>(ThreadScratch(bytes));
    auto* at = reinterpret_cast<std::int32_t*>(weights + taps * kGridPoints);
    for (Size part = begin; part < end; ++part) {
      const Size image = part / parts, first = part % parts * kGridPoints;
      const Size count = std::min(kGridPoints, g.points - first);
      GridSamples().places(g, grid + (image * g.points + first) * g.axes, count, at, weights);
      for (Size channel = image * g.channels; channel < (image + 1) * g.channels; ++channel) {
        GridSamples().sum(x + channel * plane, at, weights, taps, y + channel * g.points + first,
                          count);
      }
    }
  });
}

}  // namespace headrace::cpu
