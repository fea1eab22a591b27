#include "norm.h"

#include <cmath>
#include <vector>

namespace headrace::cpu {
namespace {

// Elements summed in their own type before the sum goes on in double: few enough that nothing is
// lost, many enough that the conversion costs nothing.
constexpr Size kBlockElements = 2048;

// Independent sums, so that the loop is vectorised: the language does not let the compiler reorder
// the additions of a single one.
constexpr Size kLanes = 32;

// The sum of map(x[i]).
template <class T, class Map>
HEADRACE_INLINE double Sum(const T* x, Size count, Map map) {
  double total = 0;
  for (Size begin = 0; begin < count; begin += kBlockElements) {
    const Size length = std::min(kBlockElements, count - begin);
    const T* block = x + begin;
    T lanes[kLanes] = {};
    Size i = 0;
    for (; i + kLanes <= length; i += kLanes) {
      for (Size k = 0; k < kLanes; ++k) lanes[k] += map(block[i + k]);
    }
    for (Size k = 0; i + k < length; ++k) lanes[k] += map(block[i + k]);
    for (const T lane : lanes) total += static_cast<double>(lane);
  }
  return total;
}

template <class T>
HEADRACE_INLINE void InstanceNormBody(const T* x, const T* gamma, const T* beta, T* y,
                                      const ChannelShape& shape, double epsilon) {
  const Size count = shape.inner;
  for (Size n = 0; n < shape.outer; ++n) {
    for (Size c = 0; c < shape.channels; ++c, x += count, y += count) {
      const double mean = Sum(x, count, [](T value) { return value; }) / count;
      // Deviations are taken from the mean as T holds it. What that rounding leaves out comes back
      // below: it is far from nothing when the mean is large.
      const T center = static_cast<T>(mean);
      const double rest = mean - static_cast<double>(center);
      const double squares = Sum(x, count, [center](T value) {
        const T deviation = value - center;
        return deviation * deviation;
      });
      const double variance = squares / count - rest * rest;
      const double scale = static_cast<double>(gamma[c]) / std::sqrt(variance + epsilon);
      const T factor = static_cast<T>(scale);
      const T offset = static_cast<T>(static_cast<double>(beta[c]) - rest * scale);
      HEADRACE_NO_ALIAS_LOOP
      for (Size i = 0; i < count; ++i) y[i] = (x[i] - center) * factor + offset;
    }
  }
}

template <class T>
HEADRACE_INLINE void NormalizationBody(const T* x, const T* mean, const T* variance, const T* gamma,
                                       const T* beta, T* y, const ChannelShape& shape,
                                       double epsilon) {
  const Size channels = shape.channels;
  std::vector<T> factors(static_cast<std::size_t>(channels));
  for (Size c = 0; c < channels; ++c) {
    const double deviation = std::sqrt(static_cast<double>(variance[c]) + epsilon);
    factors[static_cast<std::size_t>(c)] =
        static_cast<T>(static_cast<double>(gamma[c]) / deviation);
  }
  const T* factor = factors.data();
  for (Size n = 0; n < shape.outer; ++n) {
    if (shape.inner == 1) {  // channels last: the long loop runs over them
      HEADRACE_NO_ALIAS_LOOP
      for (Size c = 0; c < channels; ++c) y[c] = (x[c] - mean[c]) * factor[c] + beta[c];
      x += channels;
      y += channels;
      continue;
    }
    for (Size c = 0; c < channels; ++c, x += shape.inner, y += shape.inner) {
      const T center = mean[c];
      const T scale = factor[c];
      const T offset = beta[c];
      HEADRACE_NO_ALIAS_LOOP
      for (Size i = 0; i < shape.inner; ++i) y[i] = (x[i] - center) * scale + offset;
    }
  }
}

}  // namespace

HEADRACE_MULTIVERSION void Normalization(const float* x, const float* mean, const float* variance,
                                         const float* gamma, const float* beta, float* y,
                                         const ChannelShape& shape, double epsilon) {
  NormalizationBody(x, mean, variance, gamma, beta, y, shape, epsilon);
}
HEADRACE_MULTIVERSION void Normalization(const double* x, const double* mean,
                                         const double* variance, const double* gamma,
                                         const double* beta, double* y, const ChannelShape& shape,
                                         double epsilon) {
  NormalizationBody(x, mean, variance, gamma, beta, y, shape, epsilon);
}
HEADRACE_MULTIVERSION void InstanceNorm(const float* x, const float* gamma, const float* beta,
                                        float* y, const ChannelShape& shape, double epsilon) {
  InstanceNormBody(x, gamma, beta, y, shape, epsilon);
}
HEADRACE_MULTIVERSION void InstanceNorm(const double* x, const double* gamma, const double* beta,
                                        double* y, const ChannelShape& shape, double epsilon) {
  InstanceNormBody(x, gamma, beta, y, shape, epsilon);
}

}  // namespace headrace::cpu
