#include "kernels/sequences/spectrum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Points of a row that threads share; of shorter ones each thread has its own.
constexpr Size kLong = 1 << 15;
// Points of rows that are handed to a thread.
constexpr Size kPoints = 1 << 13;
// Vocoders ask for the angles of such rows. Of a silent one, what is left when float32 cancels is
// nothing: 0 / 0, where the window's own rounding leaves numbers that are small but true.
constexpr Size kShort = 32;
// Blocks of sixteen pairs that are handed to a thread.
constexpr Size kFoldBlocks = 1 << 14;

// Calls `f` for bins from 1 to `half`, cut between registers: a part of one may be rounded in
// another way than a whole one.
template <class F>
void ForBins(Size half, F&& f) {
  const Size blocks = CeilDiv(half - 1, kFourierLanes);
  ParallelFor(blocks, kFoldBlocks, [&](Size begin, Size end) {
    f(1 + begin * kFourierLanes, std::min(half, 1 + end * kFourierLanes));
  });
}

bool IsReal(const SpectrumForm& form) {
  const bool makes_real = form.is_inverse && form.is_onesided;
  const bool takes_real = !form.is_inverse && form.parts == 1;
  return form.length % 2 == 0 && (makes_real || takes_real);
}

Size PointsOf(const SpectrumForm& form) { return IsReal(form) ? form.length / 2 : form.length; }

// A row as it is transformed, what is made of it, and the scratch of that.
Size RowFloats(const SpectrumForm& form) {
  return 4 * (form.length + kFourierLanes) + Fourier::ScratchFloats(PointsOf(form));
}

}  // namespace

Size Spectrum::SharedFloats(const SpectrumForm& form) {
  return form.length < kLong ? 0 : RowFloats(form);
}

Spectrum::Spectrum(const SpectrumForm& form)
    : form_(form),
      bins_(form.is_onesided && !form.is_inverse ? form.length / 2 + 1 : form.length),
      is_real_(IsReal(form)),
      fourier_(PointsOf(form), form.is_inverse,
               form.is_inverse ? 1 / static_cast<double>(PointsOf(form)) : 1),
      turns_(is_real_ ? FourierTurns(form.length / 2, form.length) : std::vector<float>()) {
  if (form.is_inverse || form.length > kShort) return;
  for (Size at = 0; at < form.length; ++at) {
    for (Size bin = 0; bin < bins_; ++bin) {
      const auto part = static_cast<double>(at * bin % form.length);
      const double angle = 2 * kPi * part / static_cast<double>(form.length);
      // Half a turn is exact: of a real row, its bin has no imaginary part.
      const bool is_half = 2 * (at * bin % form.length) % form.length == 0;
      cosines_.push_back(std::cos(angle));
      sines_.push_back(is_half ? 0 : -std::sin(angle));
    }
  }
}

void Spectrum::Run(const float* x, const SpectrumRows& rows, float* y, float* scratch) const {
  const Size made = bins_ * (form_.is_inverse && form_.is_onesided ? 1 : 2);
  const auto row = [&](Size at, float* own) {
    const float* from = x + at / rows.rows * rows.signal + at % rows.rows * rows.step;
    Row(from, rows.floats, rows.window, y + at * made, own);
  };
  const Size count = rows.batch * rows.rows;
  if (scratch != nullptr) {
    for (Size at = 0; at < count; ++at) row(at, scratch);
    return;
  }
  const auto bytes = static_cast<std::size_t>(RowFloats(form_)) * sizeof(float);
  ParallelFor(count, GrainOf(kPoints, form_.length), [&](Size begin, Size end) {
    auto* own = static_cast<float*>(ThreadScratch(bytes));
    for (Size at = begin; at < end; ++at) row(at, own);
  });
}

void Spectrum::Row(const float* x, Size floats, const float* window, float* y,
                   float* scratch) const {
  const int parts = form_.parts;
  floats = std::min(floats, form_.length * parts);
  if (!cosines_.empty()) return OfShort(x, floats, window, y);
  float* own = scratch;
  float* rest = scratch + 2 * (form_.length + kFourierLanes);
  if (window != nullptr) {
    for (Size at = 0; at < floats; ++at) own[at] = x[at] * window[parts == 1 ? at : at / 2];
    x = own;
  }
  if (form_.is_inverse && form_.is_onesided) return OfHalf(x, floats, y, scratch);
  if (is_real_) return OfReal(x, floats, y, rest);
  const FourierSource source{x, floats, parts == 2};
  if (bins_ == form_.length) return fourier_.Run(source, y, rest);
  float* whole = rest;
  fourier_.Run(source, whole, rest + 2 * (form_.length + kFourierLanes));
  std::memcpy(y, whole, static_cast<std::size_t>(2 * bins_) * sizeof(float));
}

void Spectrum::OfReal(const float* x, Size floats, float* y, float* scratch) const {
  const Size half = form_.length / 2;
  float* z = scratch;
  fourier_.Run({x, floats, true}, z, scratch + 2 * (form_.length + kFourierLanes));
  ForBins(half,
          [&](Size begin, Size end) { Fouriers().unfold(z, half, turns_.data(), y, begin, end); });
  y[0] = z[0] + z[1];
  y[1] = 0;
  y[2 * half] = z[0] - z[1];
  y[2 * half + 1] = 0;
  for (Size bin = half + 1; bin < bins_; ++bin) {
    y[2 * bin] = y[2 * (form_.length - bin)];
    y[2 * bin + 1] = -y[2 * (form_.length - bin) + 1];
  }
}

void Spectrum::OfShort(const float* x, Size floats, const float* window, float* y) const {
  std::array<double, kShort> re{}, im{};
  const auto bins = static_cast<std::size_t>(bins_);
  const auto add = [&](double by, const double* to_re, const double* to_im, double sign) {
    for (std::size_t bin = 0; bin < bins; ++bin) {
      re[bin] += by * to_re[bin];
      im[bin] += sign * by * to_im[bin];
    }
  };
  const Size parts = form_.parts;
  for (Size at = 0; at < floats; ++at) {
    const Size number = at / parts;
    const double by = static_cast<double>(x[at]) * (window == nullptr ? 1.0 : window[number]);
    const double* cosines = cosines_.data() + number * bins_;
    const double* sines = sines_.data() + number * bins_;
    if (at % parts == 0) {
      add(by, cosines, sines, 1);
    } else {  // times i
      add(-by, sines, cosines, -1);
    }
  }
  for (std::size_t bin = 0; bin < bins; ++bin) {
    y[2 * bin] = static_cast<float>(re[bin]);
    y[2 * bin + 1] = static_cast<float>(im[bin]);
  }
}

void Spectrum::OfHalf(const float* x, Size floats, float* y, float* scratch) const {
  const Size length = form_.length, half = length / 2;
  float* bins = scratch;
  float* rest = scratch + 2 * (length + kFourierLanes);
  const Size there = std::min(half + 1, floats / form_.parts);
  for (Size bin = 0; bin <= half; ++bin) {
    const bool is_there = bin < there;
    bins[2 * bin] = is_there ? x[form_.parts * bin] : 0;
    bins[2 * bin + 1] = is_there && form_.parts == 2 ? x[2 * bin + 1] : 0;
  }
  if (is_real_) {
    float* z = rest;
    z[0] = 0.5f * (bins[0] + bins[2 * half]);
    z[1] = 0.5f * (bins[0] - bins[2 * half]);
    ForBins(half, [&](Size begin, Size end) {
      Fouriers().fold(bins, half, turns_.data(), z, begin, end);
    });
    return fourier_.Run({z, 2 * half, true}, y, rest + 2 * (length + kFourierLanes));
  }
  bins[1] = 0;
  for (Size bin = half + 1; bin < length; ++bin) {
    bins[2 * bin] = bins[2 * (length - bin)];
    bins[2 * bin + 1] = -bins[2 * (length - bin) + 1];
  }
  float* made = rest;
  fourier_.Run({bins, 2 * length, true}, made, rest + 2 * (length + kFourierLanes));
  for (Size at = 0; at < length; ++at) y[at] = made[2 * at];
}

}  // namespace headrace::cpu
