#include "kernels/rows/norm_last.h"

#include <algorithm>
#include <cmath>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Numbers whose moments are taken at once: they are read twice, from the second cache.
constexpr Size kChunkFloats = 1 << 13;

// What is scaled is worth a part of its own from here on, and stays in the first cache.
constexpr Size kPartFloats = 1 << 12;

// Of each chunk of the pixels, [chunks][channels].
struct ChunkMoments {
  float* center;
  float* rest;
  float* squares;
};

// The moments of all pixels from those of chunks of them, and from these what each channel is
// scaled with. Sums are kept in double: chunks differ in their means.
void Combine(const GroupNormLast& norm, const ChunkMoments& moments, Size chunks, Size chunk_rows,
             float* center, float* factor, float* offset) {
  const Size channels = norm.channels, width = channels / norm.groups;
  const auto pixels = static_cast<double>(norm.pixels);
  for (Size g = 0; g < norm.groups; ++g) {
    const auto rows = [&](Size k) {
      return static_cast<double>(std::min(chunk_rows, norm.pixels - k * chunk_rows));
    };
    const auto mean_of = [&](Size k, Size c) {
      const Size i = k * channels + c;
      return static_cast<double>(moments.center[i]) + moments.rest[i] / rows(k);
    };
    double total = 0;
    for (Size c = g * width; c < (g + 1) * width; ++c) {
      for (Size k = 0; k < chunks; ++k) total += mean_of(k, c) * rows(k);
    }
    const double mean = total / (pixels * static_cast<double>(width));
    double spread = 0;
    for (Size c = g * width; c < (g + 1) * width; ++c) {
      for (Size k = 0; k < chunks; ++k) {
        const double away = mean_of(k, c) - mean, rest = moments.rest[k * channels + c];
        spread += moments.squares[k * channels + c] - rest * rest / rows(k);
        spread += away * away * rows(k);
      }
    }
    const double variance = std::max(spread / (pixels * static_cast<double>(width)), 0.0);
    const double scale = 1 / std::sqrt(variance + norm.epsilon);
    // What rounding the mean leaves out goes into the offset: it is far from nothing when the mean
    // is large.
    const auto rounded = static_cast<float>(mean);
    const double rest = mean - static_cast<double>(rounded);
    for (Size c = g * width; c < (g + 1) * width; ++c) {
      const double gain = scale * static_cast<double>(norm.gamma[c]);
      center[c] = rounded;
      factor[c] = static_cast<float>(gain);
      offset[c] = static_cast<float>(static_cast<double>(norm.beta[c]) - rest * gain);
    }
  }
}

void ScaleRows(const float* x, Size rows, Size columns, const float* center, const float* factor,
               const float* offset, float* y) {
  const Size some = std::max<Size>(1, kPartFloats / columns), parts = CeilDiv(rows, some);
  ParallelFor(parts, 4, [&](Size begin, Size end) {
    for (Size part = begin; part < end; ++part) {
      const Size first = part * some, place = first * columns;
      Norms().scale(x + place, std::min(some, rows - first), columns, center, factor, offset,
                    y + place);
    }
  });
}

}  // namespace

void Standardize(const GroupNormLast& norm) {
  const Size channels = norm.channels;
  if (norm.n * norm.pixels * channels == 0) return;
  const Size rows = std::max<Size>(1, kChunkFloats / channels);
  const Size chunks = CeilDiv(norm.pixels, rows);
  const Size floats = (3 * chunks + 3) * channels;
  auto* scratch =
      static_cast<float*>(ThreadScratch(static_cast<std::size_t>(floats) * sizeof(float)));
  const Size each = chunks * channels;
  const ChunkMoments moments{scratch, scratch + each, scratch + 2 * each};
  float* center = scratch + 3 * each;
  float* factor = center + channels;
  float* offset = factor + channels;
  for (Size n = 0; n < norm.n; ++n) {
    const float* x = norm.x + n * norm.pixels * channels;
    ParallelFor(chunks, 2, [&](Size begin, Size end) {
      for (Size k = begin; k < end; ++k) {
        const Size at = k * channels;
        Norms().moments(x + k * rows * channels, std::min(rows, norm.pixels - k * rows), channels,
                        moments.center + at, moments.rest + at, moments.squares + at);
      }
    });
    Combine(norm, moments, chunks, rows, center, factor, offset);
    ScaleRows(x, norm.pixels, channels, center, factor, offset,
              norm.y + n * norm.pixels * channels);
  }
}

void Normalize(const NormalizationLast& norm) {
  if (norm.rows * norm.channels == 0) return;
  auto* factor =
      static_cast<float*>(ThreadScratch(static_cast<std::size_t>(norm.channels) * sizeof(float)));
  for (Size c = 0; c < norm.channels; ++c) {
    const double deviation = std::sqrt(static_cast<double>(norm.variance[c]) + norm.epsilon);
    factor[c] = static_cast<float>(static_cast<double>(norm.gamma[c]) / deviation);
  }
  ScaleRows(norm.x, norm.rows, norm.channels, norm.mean, factor, norm.beta, norm.y);
}

}  // namespace headrace::cpu
