#include "kernels/images/resample_table.h"
#include "kernels/machine/simd.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

void RunFloats(const ResampledLines& at, const float* weights, const float* x, float* y) {
  const std::int32_t* sources = at.sources;
  for (Size i = 0; i < at.lines; ++i, sources += at.taps, weights += at.taps, y += at.y_step) {
    for (Size j = 0; j < at.width; j += kWidth) {
      const int width = VectorCount(at.width - j);
      V sum = Broadcast(weights[0]) * LoadSome(x + (sources[0] - at.first) * at.x_step + j, width);
      for (Size k = 1; k < at.taps; ++k) {
        const float* from = x + (sources[k] - at.first) * at.x_step + j;
        sum = MulAdd(Broadcast(weights[k]), LoadSome(from, width), sum);
      }
      StoreSome(y + j, sum, width);
    }
  }
}

template <class T>
struct Limits;
template <>
struct Limits<std::int8_t> {
  static constexpr double kLeast = -128, kMost = 127;
};
template <>
struct Limits<std::uint8_t> {
  static constexpr double kLeast = 0, kMost = 255;
};
template <>
struct Limits<std::int32_t> {
  static constexpr double kLeast = -2147483648.0, kMost = 2147483647.0;
};

HEADRACE_INLINE void Finish(double sum, double* y) { *y = sum; }

template <class T>
HEADRACE_INLINE void Finish(double sum, T* y) {
  sum += sum < 0 ? -1e-6 : 1e-6;
  sum = sum < Limits<T>::kMost ? sum : Limits<T>::kMost;
  sum = sum > Limits<T>::kLeast ? sum : Limits<T>::kLeast;
  *y = static_cast<T>(static_cast<std::int32_t>(sum));
}

// Sums of doubles are as many as stay in the first cache: loops over them are vectors.
constexpr Size kSums = 64;

template <class X, class Y>
void RunDoubles(const ResampledLines& at, const double* weights, const X* x, Y* y) {
  const std::int32_t* sources = at.sources;
  for (Size i = 0; i < at.lines; ++i, sources += at.taps, weights += at.taps, y += at.y_step) {
    for (Size begin = 0; begin < at.width; begin += kSums) {
      const Size width = at.width - begin < kSums ? at.width - begin : kSums;
      double sums[kSums];
      const X* from = x + (sources[0] - at.first) * at.x_step + begin;
      for (Size j = 0; j < width; ++j) sums[j] = weights[0] * static_cast<double>(from[j]);
      for (Size k = 1; k < at.taps; ++k) {
        from = x + (sources[k] - at.first) * at.x_step + begin;
        for (Size j = 0; j < width; ++j) sums[j] += weights[k] * static_cast<double>(from[j]);
      }
      Y* to = y + begin;
      HEADRACE_NO_ALIAS_LOOP
      for (Size j = 0; j < width; ++j) Finish(sums[j], to + j);
    }
  }
}

}  // namespace

#define HEADRACE_RESAMPLED(X, Y) \
  , { RunDoubles<X, Y> }
extern const ResampleTable kResamples = {
    {RunFloats} HEADRACE_RESAMPLED_IN_DOUBLES(HEADRACE_RESAMPLED)};
#undef HEADRACE_RESAMPLED

}  // namespace headrace::cpu::HEADRACE_ISA
