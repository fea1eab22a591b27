#include "winograd.h"

#include <algorithm>

#include "thread_pool.h"

namespace headrace::cpu {
namespace {

// Transformed numbers that are worked on at a time, so that they stay in the second cache.
constexpr Size kBlockFloats = 3 << 17;

// Tiles of a block: with fewer, the weights are read too often; with more, nothing is gained.
constexpr Size kFewTiles = 24;
constexpr Size kManyTiles = 144;

// A block of tiles: `run(count, body)` calls body(begin, end) for parts of [0, count).
template <class Run>
void RunBlock(const WinogradConv& conv, const WinogradTiles& tiles, float* v, float* p, Run run) {
  const Size places = (conv.m + 2) * (conv.m + 2), panels = PanelCount(conv.outputs);
  run(tiles.count, [&](Size begin, Size end) { Winograd().read(conv, tiles, begin, end, v); });
  run(places, [&](Size begin, Size end) {
    const float* starts[kMostRows];
    for (Size place = begin; place < end; ++place) {
      const DenseRows source{v + place * tiles.stride * conv.channels, conv.channels};
      const Product product{MakeRows(&source, tiles.count, conv.channels),
                            conv.panels + place * panels * conv.channels * kPanel,
                            conv.outputs,
                            p + place * tiles.stride * conv.outputs,
                            conv.outputs,
                            {}};
      Gemm().block(product, 0, tiles.count, 0, panels, starts);
    }
  });
  run(tiles.count, [&](Size begin, Size end) { Winograd().write(conv, tiles, begin, end, p); });
}

// One dimension of the transform of the weights, for tiles of kM: from three taps to kM + 2
// numbers.
template <int kM>
struct Spread;

template <>
struct Spread<2> {
  static void Apply(double a, double b, double c, double (&t)[4]) {
    t[0] = a;
    t[1] = (a + b + c) / 2;
    t[2] = (a - b + c) / 2;
    t[3] = c;
  }
};

// At the points 0, 1, -1, 2, -2.
template <>
struct Spread<4> {
  static void Apply(double a, double b, double c, double (&t)[6]) {
    t[0] = a / 4;
    t[1] = -(a + b + c) / 6;
    t[2] = -(a - b + c) / 6;
    t[3] = (a + 2 * b + 4 * c) / 24;
    t[4] = (a - 2 * b + 4 * c) / 24;
    t[5] = c;
  }
};

// Output `output` of one channel: (kM + 2)^2 numbers, `stride` floats apart.
template <int kM>
void SpreadKernel(const float* taps, const Size (&strides)[4], float* to, Size stride) {
  double columns[3][kM + 2];
  for (int x = 0; x < 3; ++x) {
    const float* at = taps + x * strides[2];
    Spread<kM>::Apply(at[0], at[strides[1]], at[2 * strides[1]], columns[x]);
  }
  for (int i = 0; i < kM + 2; ++i) {
    double places[kM + 2];
    Spread<kM>::Apply(columns[0][i], columns[1][i], columns[2][i], places);
    for (const double place : places) {
      *to = static_cast<float>(place);
      to += stride;
    }
  }
}

}  // namespace

void Pack(const WinogradWeight& weight, float* panels) {
  const Size count = PanelCount(weight.outputs), stride = count * weight.channels * kPanel;
  const Size places = (weight.m + 2) * (weight.m + 2);
  ParallelFor(count, 1, [&](Size begin, Size end) {
    for (Size at = begin * weight.channels; at < end * weight.channels; ++at) {
      const Size first = at / weight.channels * kPanel, channel = at % weight.channels;
      float* to = panels + at * kPanel;
      for (int i = 0; i < kPanel; ++i) {
        if (first + i >= weight.outputs) {
          for (Size place = 0; place < places; ++place) to[place * stride + i] = 0;
          continue;
        }
        const float* taps =
            weight.first + (first + i) * weight.strides[0] + channel * weight.strides[3];
        if (weight.m == 2) {
          SpreadKernel<2>(taps, weight.strides, to + i, stride);
        } else {
          SpreadKernel<4>(taps, weight.strides, to + i, stride);
        }
      }
    }
  });
}

void Convolve(const WinogradConv& conv) {
  const Size places = (conv.m + 2) * (conv.m + 2), m = conv.m;
  const Size tiles = conv.n * ((conv.out[0] + m - 1) / m) * ((conv.out[1] + m - 1) / m);
  const Size tile_floats = places * (conv.channels + conv.outputs);
  const Size most = std::clamp(kBlockFloats / tile_floats, kFewTiles, kManyTiles);
  const Size blocks = (tiles + most - 1) / most, stride = (tiles + blocks - 1) / blocks;
  const auto bytes = static_cast<std::size_t>(stride * tile_floats) * sizeof(float);
  const auto block = [&](Size i) {
    const Size first = tiles * i / blocks;
    return WinogradTiles{first, tiles * (i + 1) / blocks - first, stride};
  };
  const Size threads = Threads();
  if (threads == 1 || blocks >= 3 * threads) {  // blocks side by side
    ParallelFor(blocks, 1, [&](Size begin, Size end) {
      auto* v = static_cast<float*>(ThreadScratch(bytes));
      float* p = v + places * stride * conv.channels;
      for (Size i = begin; i < end; ++i) {
        RunBlock(conv, block(i), v, p, [](Size count, const auto& body) { body(0, count); });
      }
    });
    return;
  }
  auto* v = static_cast<float*>(ThreadScratch(bytes));
  float* p = v + places * stride * conv.channels;
  for (Size i = 0; i < blocks; ++i) {
    RunBlock(conv, block(i), v, p, [threads](Size count, const auto& body) {
      ParallelFor(count, std::max<Size>(1, count / (3 * threads)),
                  [&body](Size begin, Size end) { body(begin, end); });
    });
  }
}

}  // namespace headrace::cpu
