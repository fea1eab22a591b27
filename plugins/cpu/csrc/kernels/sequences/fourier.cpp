#include "kernels/sequences/fourier.h"

#include <algorithm>
#include <cmath>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// What a thread is handed: less does not outweigh that another one reads what it wrote.
constexpr Size kButterflies = 1 << 12, kBlocks = 1 << 11, kBlocksOfPairs = 1 << 14;

Size Blocks(Size count) { return CeilDiv(count, kFourierLanes); }

struct Angle {
  double cosine, sine;
};

// `at` of `parts` of a circle, clockwise.
Angle Turn(Size at, Size parts) {
  const double angle = -2 * kPi * static_cast<double>(at % parts) / static_cast<double>(parts);
  return {std::cos(angle), std::sin(angle)};
}

void Put(std::vector<float>& to, Angle angle) {
  to.push_back(static_cast<float>(angle.cosine));
  to.push_back(static_cast<float>(angle.sine));
}

int LanesOf(Size length) {
  for (const int lanes : {16, 8}) {
    if (length % lanes == 0) return lanes;
  }
  int lanes = kFourierLanes - 1;
  while (length % lanes != 0) --lanes;
  return lanes;
}

// Large ones read and write less often.
std::vector<int> RadicesOf(Size columns) {
  std::vector<int> radices;
  for (const int radix : {13, 11, 7, 5, 3}) {
    for (; columns % radix == 0; columns /= radix) radices.push_back(radix);
  }
  while (columns > 1) {
    const int radix = columns == 16 || columns == 4 ? 4 : columns == 2 ? 2 : 8;
    radices.push_back(radix);
    columns /= radix;
  }
  return radices;
}

// The next length that two transforms fit in, with sixteen lanes.
Size Padded(Size length) {
  Size best = 0;
  for (const Size odd : {1, 3, 5}) {
    Size padded = kFourierLanes * odd;
    while (padded < 2 * length - 1) padded *= 2;
    if (best == 0 || padded < best) best = padded;
  }
  return best;
}

}  // namespace

std::vector<float> FourierTurns(Size count, Size parts) {
  std::vector<float> turns;
  turns.reserve(static_cast<std::size_t>(count) * 2);
  for (Size at = 0; at < count; ++at) Put(turns, Turn(at, parts));
  return turns;
}

bool SmoothFourier::Fits(Size length) {
  for (const Size prime : {2, 3, 5, 7, 11, 13}) {
    while (length % prime == 0) length /= prime;
  }
  return length == 1;
}

Size SmoothFourier::ScratchFloats(Size length) {
  return 2 * kFourierColumn * (length / LanesOf(length));
}

SmoothFourier::SmoothFourier(Size length, double scale)
    : lanes_(LanesOf(length)), columns_(length / lanes_) {
  Size stride = 1, rest = columns_;
  for (const int radix : RadicesOf(columns_)) {
    passes_.push_back(
        {radix, rest, stride, static_cast<Size>(pass_turns_.size()), FourierTurns(radix, radix)});
    for (Size at = 0; at < rest / radix; ++at) {
      for (int bin = 1; bin < radix; ++bin) Put(pass_turns_, Turn(at * bin, rest));
    }
    rest /= radix;
    stride *= radix;
  }
  join_roots_ = FourierTurns(lanes_, lanes_);
  join_turns_.resize(static_cast<std::size_t>(columns_ * kFourierColumn));
  for (Size column = 0; column < columns_; ++column) {
    float* turns = join_turns_.data() + column * kFourierColumn;
    for (int lane = 0; lane < lanes_; ++lane) {
      const Angle angle = Turn(column * lane, length);
      turns[lane] = static_cast<float>(angle.cosine * scale);
      turns[kFourierLanes + lane] = static_cast<float>(angle.sine * scale);
    }
  }
}

void SmoothFourier::Run(const FourierSource& x, bool is_inverse, float* y, float* scratch) const {
  const FourierTable& table = Fouriers();
  float* from = scratch;
  float* to = scratch + columns_ * kFourierColumn;
  ParallelFor(columns_, kButterflies * 4,
              [&](Size begin, Size end) { table.load(x, is_inverse, lanes_, from, begin, end); });
  for (const Pass& own : passes_) {
    const FourierPass pass{own.radix, own.length, own.stride, own.roots.data(),
                           pass_turns_.data() + own.turns};
    ParallelFor(columns_ / own.radix, kButterflies,
                [&](Size begin, Size end) { table.pass(pass, from, to, begin, end); });
    std::swap(from, to);
  }
  const FourierJoin join{lanes_, columns_, join_roots_.data(), join_turns_.data()};
  ParallelFor(Blocks(columns_), kBlocks,
              [&](Size begin, Size end) { table.join(join, from, is_inverse, y, begin, end); });
}

Size Fourier::ScratchFloats(Size length) {
  if (SmoothFourier::Fits(length)) return SmoothFourier::ScratchFloats(length);
  const Size padded = Padded(length);
  return 4 * padded + SmoothFourier::ScratchFloats(padded);
}

Fourier::Fourier(Size length, bool is_inverse, double scale)
    : length_(length),
      is_inverse_(is_inverse),
      smooth_(SmoothFourier::Fits(length) ? SmoothFourier(length, scale)
                                          : SmoothFourier(Padded(length), 1)) {
  if (SmoothFourier::Fits(length)) return;
  padded_ = Padded(length);
  // Half a turn for each square; taken modulo a whole turn first, or long ones lose digits.
  std::vector<float> filter(static_cast<std::size_t>(2 * padded_));
  for (Size at = 0; at < length; ++at) {
    const Angle angle = Turn(at * at % (2 * length), 2 * length);
    Put(chirp_, {angle.cosine, is_inverse ? -angle.sine : angle.sine});
    for (const Size place : {at, (padded_ - at) % padded_}) {
      filter[static_cast<std::size_t>(2 * place)] = chirp_[static_cast<std::size_t>(2 * at)];
      filter[static_cast<std::size_t>(2 * place + 1)] =
          -chirp_[static_cast<std::size_t>(2 * at + 1)];
    }
  }
  std::vector<float> scratch(static_cast<std::size_t>(SmoothFourier::ScratchFloats(padded_)));
  chirp_bins_.resize(filter.size());
  const SmoothFourier scaled(padded_, scale / static_cast<double>(padded_));
  scaled.Run({filter.data(), 2 * padded_, true}, false, chirp_bins_.data(), scratch.data());
}

void Fourier::Run(const FourierSource& x, float* y, float* scratch) const {
  if (padded_ == 0) return smooth_.Run(x, is_inverse_, y, scratch);
  const FourierTable& table = Fouriers();
  const auto multiply = [&](const float* a, const float* b, float* product, Size count) {
    // Cut between registers: a part of one may be rounded in another way than a whole one.
    ParallelFor(Blocks(count), kBlocksOfPairs, [&](Size begin, Size end) {
      const Size at = 2 * begin * kFourierLanes;
      table.multiply(a + at, b + at, product + at, std::min(count, end * kFourierLanes) - at / 2);
    });
  };
  float* pairs = scratch;
  float* bins = scratch + 2 * padded_;
  float* rest = scratch + 4 * padded_;
  const Size count = std::min(length_, x.is_pairs ? (x.floats + 1) / 2 : x.floats);
  const float* from = x.from;
  if (!x.is_pairs || x.floats < 2 * count) {
    // Numbers, or the last one, have a part that is not there.
    const Size parts = x.is_pairs ? 2 : 1;
    for (Size at = 0; at < count; ++at) {
      bins[2 * at] = x.from[parts * at];
      bins[2 * at + 1] = x.is_pairs && 2 * at + 1 < x.floats ? x.from[2 * at + 1] : 0;
    }
    from = bins;
  }
  multiply(from, chirp_.data(), pairs, count);
  smooth_.Run({pairs, 2 * count, true}, false, bins, rest);
  multiply(bins, chirp_bins_.data(), bins, padded_);
  smooth_.Run({bins, 2 * padded_, true}, true, pairs, rest);
  multiply(pairs, chirp_.data(), y, length_);
}

}  // namespace headrace::cpu
