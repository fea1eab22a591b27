#include "kernels/convolutions/winograd.h"

#include <algorithm>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

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
// numbers, of which each is still to be multiplied by its factor.
template <int kM>
struct Spread;

template <>
struct Spread<2> {
  static constexpr double kFactors[] = {1, 1.0 / 2, 1.0 / 2, 1};
  static HEADRACE_INLINE void Apply(double a, double b, double c, double (&t)[4]) {
    t[0] = a;
    t[1] = a + b + c;
    t[2] = a - b + c;
    t[3] = c;
  }
};

// At the points 0, 1, -1, 2, -2.
template <>
struct Spread<4> {
  static constexpr double kFactors[] = {1.0 / 4, -1.0 / 6, -1.0 / 6, 1.0 / 24, 1.0 / 24, 1};
  static HEADRACE_INLINE void Apply(double a, double b, double c, double (&t)[6]) {
    t[0] = a;
    t[1] = a + b + c;
    t[2] = a - b + c;
    t[3] = a + 2 * b + 4 * c;
    t[4] = a - 2 * b + 4 * c;
    t[5] = c;
  }
};

// One channel of the `width` outputs of a panel: (kM + 2)^2 lines, `stride` floats apart. All
// columns of the panel at once, so that lines are written whole and the loops are vectors.
template <int kM>
void SpreadPanel(const float* taps, const Size (&strides)[4], Size width, float* to, Size stride) {
  constexpr int kA = kM + 2;
  double kernel[3][3][kPanel] = {};
  for (Size i = 0; i < width; ++i) {
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 3; ++x) {
        kernel[y][x][i] = taps[i * strides[0] + y * strides[1] + x * strides[2]];
      }
    }
  }
  double columns[3][kA][kPanel];
  for (int x = 0; x < 3; ++x) {
    for (Size i = 0; i < kPanel; ++i) {
      double t[kA];
      Spread<kM>::Apply(kernel[0][x][i], kernel[1][x][i], kernel[2][x][i], t);
      for (int y = 0; y < kA; ++y) columns[x][y][i] = t[y];
    }
  }
  for (int y = 0; y < kA; ++y) {
    double factors[kA];
    for (int x = 0; x < kA; ++x) factors[x] = Spread<kM>::kFactors[y] * Spread<kM>::kFactors[x];
    float* line = to + y * kA * stride;
    for (Size i = 0; i < kPanel; ++i) {
      double t[kA];
      Spread<kM>::Apply(columns[0][y][i], columns[1][y][i], columns[2][y][i], t);
      for (int x = 0; x < kA; ++x) line[x * stride + i] = static_cast<float>(t[x] * factors[x]);
    }
  }
}

}  // namespace

void Pack(const WinogradWeight& weight, float* panels) {
  const Size count = PanelCount(weight.outputs), stride = count * weight.channels * kPanel;
  ParallelFor(count, 1, [&](Size begin, Size end) {
    for (Size at = begin * weight.channels; at < end * weight.channels; ++at) {
      const Size first = at / weight.channels * kPanel, channel = at % weight.channels;
      const Size width = std::min<Size>(kPanel, weight.outputs - first);
      const float* taps = weight.first + first * weight.strides[0] + channel * weight.strides[3];
      float* to = panels + at * kPanel;
      if (weight.m == 2) {
        SpreadPanel<2>(taps, weight.strides, width, to, stride);
      } else {
        SpreadPanel<4>(taps, weight.strides, width, to, stride);
      }
    }
  });
}

void Convolve(const WinogradConv& conv) {
  const Size places = (conv.m + 2) * (conv.m + 2), m = conv.m;
  const Size tiles = conv.n * CeilDiv(conv.out[0], m) * CeilDiv(conv.out[1], m);
  const Size tile_floats = places * (conv.channels + conv.outputs);
  const Size most = std::clamp(kBlockFloats / tile_floats, kFewTiles, kManyTiles);
  const Size blocks = CeilDiv(tiles, most), stride = CeilDiv(tiles, blocks);
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
