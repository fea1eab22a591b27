#include "kernels/rows/norm.h"

#include <cmath>

#include "kernels/machine/thread_pool.h"
#include "kernels/rows/norm_rows.h"

namespace headrace::cpu {
namespace {

// Numbers that are worth a part of their own.
constexpr Size kPartNumbers = 1 << 14;

template <class T>
void InstanceNormBody(const T* x, const T* gamma, const T* beta, T* y, const ChannelShape& shape,
                      double epsilon) {
  const Size count = shape.inner;
  const RowNorms<T>& rows = RowNormLoops();
  const Size grain = GrainOf(kPartNumbers, count);
  ParallelFor(shape.outer * shape.channels, grain, [&](Size begin, Size end) {
    for (Size plane = begin; plane < end; ++plane) {
      const T* from = x + plane * count;
      const Size c = plane % shape.channels;
      const double mean = rows.sum(from, count) / count;
      // Deviations are taken from the mean as T holds it. What that rounding leaves out comes back
      // below: it is far from nothing when the mean is large.
      const T center = static_cast<T>(mean);
      const double rest = mean - static_cast<double>(center);
      const double variance = rows.squares(from, center, count) / count - rest * rest;
      const double scale = static_cast<double>(gamma[c]) / std::sqrt(variance + epsilon);
      const T factor = static_cast<T>(scale);
      const T offset = static_cast<T>(static_cast<double>(beta[c]) - rest * scale);
      rows.line(from, center, factor, offset, y + plane * count, count);
    }
  });
}

template <class T>
void NormalizationBody(const T* x, const T* mean, const T* variance, const T* gamma, const T* beta,
                       T* y, const ChannelShape& shape, double epsilon) {
  const Size channels = shape.channels;
  auto* const factor =
      static_cast<T*>(ThreadScratch(static_cast<std::size_t>(channels) * sizeof(T)));
  for (Size c = 0; c < channels; ++c) {
    const double deviation = std::sqrt(static_cast<double>(variance[c]) + epsilon);
    factor[c] = static_cast<T>(static_cast<double>(gamma[c]) / deviation);
  }
  const RowNorms<T>& rows = RowNormLoops();
  for (Size n = 0; n < shape.outer; ++n) {
    if (shape.inner == 1) {  // channels last: the long loop runs over them
      rows.lines(x, mean, factor, beta, y, channels);
      x += channels;
      y += channels;
      continue;
    }
    for (Size c = 0; c < channels; ++c, x += shape.inner, y += shape.inner) {
      rows.line(x, mean[c], factor[c], beta[c], y, shape.inner);
    }
  }
}

}  // namespace

void Normalization(const float* x, const float* mean, const float* variance, const float* gamma,
                   const float* beta, float* y, const ChannelShape& shape, double epsilon) {
  NormalizationBody(x, mean, variance, gamma, beta, y, shape, epsilon);
}
void Normalization(const double* x, const double* mean, const double* variance, const double* gamma,
                   const double* beta, double* y, const ChannelShape& shape, double epsilon) {
  NormalizationBody(x, mean, variance, gamma, beta, y, shape, epsilon);
}
void InstanceNorm(const float* x, const float* gamma, const float* beta, float* y,
                  const ChannelShape& shape, double epsilon) {
  InstanceNormBody(x, gamma, beta, y, shape, epsilon);
}
void InstanceNorm(const double* x, const double* gamma, const double* beta, double* y,
                  const ChannelShape& shape, double epsilon) {
  InstanceNormBody(x, gamma, beta, y, shape, epsilon);
}

}  // namespace headrace::cpu
