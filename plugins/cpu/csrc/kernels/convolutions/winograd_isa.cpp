#include "kernels/convolutions/winograd.h"
#include "kernels/machine/simd.h"
#include "kernels/machine/sizes.h"
#include "kernels/products/activation.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// One dimension of the transforms, for tiles of kM: of what is read, and back.
template <int kM>
struct Along;

template <>
struct Along<2> {
  static HEADRACE_INLINE void Read(const V (&d)[4], V (&t)[4]) {
    t[0] = d[0] - d[2];
    t[1] = d[1] + d[2];
    t[2] = d[2] - d[1];
    t[3] = d[1] - d[3];
  }
  static HEADRACE_INLINE void Write(const V (&p)[4], V (&y)[2]) {
    y[0] = p[0] + p[1] + p[2];
    y[1] = p[1] - p[2] - p[3];
  }
};

// At the points 0, 1, -1, 2, -2.
template <>
struct Along<4> {
  static HEADRACE_INLINE void Read(const V (&d)[6], V (&t)[6]) {
    const V two = Broadcast(2), four = Broadcast(4), five = Broadcast(-5);
    const V even = MulAdd(-four, d[2], d[4]), odd = MulAdd(-four, d[1], d[3]);
    const V twice = two * (d[3] - d[1]), rest = d[4] - d[2];
    t[0] = MulAdd(four, d[0], MulAdd(five, d[2], d[4]));
    t[1] = even + odd;
    t[2] = even - odd;
    t[3] = rest + twice;
    t[4] = rest - twice;
    t[5] = MulAdd(four, d[1], MulAdd(five, d[3], d[5]));
  }
  static HEADRACE_INLINE void Write(const V (&p)[6], V (&y)[4]) {
    const V sum = p[1] + p[2], difference = p[1] - p[2];
    const V far_sum = p[3] + p[4], far_difference = p[3] - p[4];
    y[0] = p[0] + sum + far_sum;
    y[1] = MulAdd(Broadcast(2), far_difference, difference);
    y[2] = MulAdd(Broadcast(4), far_sum, sum);
    y[3] = MulAdd(Broadcast(8), far_difference, difference + p[5]);
  }
};

struct Place {
  Size n, y, x;  // of the first output of a tile
};

template <int kM>
Place PlaceOf(const WinogradConv& conv, Size tile) {
  const Size columns = CeilDiv(conv.out[1], kM), rows = CeilDiv(conv.out[0], kM);
  return {tile / columns / rows, tile / columns % rows * kM, tile % columns * kM};
}

// The first index of a tile that lies in [0, size), and the one behind the last.
struct Range {
  int begin, end;
};
HEADRACE_INLINE Range Inside(Size start, Size size, int count) {
  const Size begin = start < 0 ? -start : 0, end = size - start < count ? size - start : count;
  return {static_cast<int>(begin < count ? begin : count), static_cast<int>(end > 0 ? end : 0)};
}

template <int kM>
void ReadTile(const WinogradConv& conv, Size tile, float* v, Size stride) {
  constexpr int kA = kM + 2;
  const Size channels = conv.channels;
  const Place at = PlaceOf<kM>(conv, tile);
  const Size top = at.y - conv.pad[0], left = at.x - conv.pad[1];
  const Range rows = Inside(top, conv.in[0], kA), columns = Inside(left, conv.in[1], kA);
  const bool whole = rows.begin == 0 && rows.end == kA && columns.begin == 0 && columns.end == kA;
  const float* x = conv.x + ((at.n * conv.in[0] + top) * conv.in[1] + left) * channels;
  const Size line = conv.in[1] * channels, place = stride * channels;
  for (Size c = 0; c < channels; c += kWidth) {
    const int width = VectorCount(channels - c);
    V half[kA][kA];
    for (int i = 0; i < kA; ++i) {
      V d[kA], t[kA];
      const float* from = x + i * line + c;
      if (whole && width == kWidth) {
#pragma GCC unroll 6
        for (int j = 0; j < kA; ++j) d[j] = Load(from + j * channels);
      } else {
        const bool row_inside = i >= rows.begin && i < rows.end;
#pragma GCC unroll 6
        for (int j = 0; j < kA; ++j) {
          const bool inside = row_inside && j >= columns.begin && j < columns.end;
          d[j] = inside ? LoadSome(from + j * channels, width) : Broadcast(0);
        }
      }
      Along<kM>::Read(d, t);
#pragma GCC unroll 6
      for (int j = 0; j < kA; ++j) half[j][i] = t[j];
    }
    for (int j = 0; j < kA; ++j) {
      V t[kA];
      Along<kM>::Read(half[j], t);
#pragma GCC unroll 6
      for (int i = 0; i < kA; ++i) StoreSome(v + (i * kA + j) * place + c, t[i], width);
    }
  }
}

template <int kM, class F>
HEADRACE_INLINE void WriteTile(const WinogradConv& conv, Size tile, const float* p, Size stride,
                               F activate) {
  constexpr int kA = kM + 2;
  const Size outputs = conv.outputs;
  const Epilogue& e = conv.epilogue;
  const Place at = PlaceOf<kM>(conv, tile);
  const int rows = Inside(at.y, conv.out[0], kM).end, columns = Inside(at.x, conv.out[1], kM).end;
  const Size first = ((at.n * conv.out[0] + at.y) * conv.out[1] + at.x) * outputs;
  const Size line = conv.out[1] * outputs, place = stride * outputs;
  for (Size c = 0; c < outputs; c += kWidth) {
    const int width = VectorCount(outputs - c);
    V half[kM][kA];
    for (int j = 0; j < kA; ++j) {
      V sums[kA], t[kM];
#pragma GCC unroll 6
      for (int i = 0; i < kA; ++i) sums[i] = LoadSome(p + (i * kA + j) * place + c, width);
      Along<kM>::Write(sums, t);
#pragma GCC unroll 4
      for (int i = 0; i < kM; ++i) half[i][j] = t[i];
    }
    const V bias = e.bias == nullptr ? Broadcast(0) : LoadSome(e.bias + c, width);
    for (int i = 0; i < rows; ++i) {
      V t[kM];
      Along<kM>::Write(half[i], t);
#pragma GCC unroll 4
      for (int j = 0; j < kM; ++j) {
        if (j >= columns) break;
        const Size offset = first + i * line + j * outputs + c;
        V y = t[j] + bias;
        if (e.addend != nullptr && !e.addend_last) y = y + LoadSome(e.addend + offset, width);
        y = activate(y);
        if (e.addend != nullptr && e.addend_last) y = y + LoadSome(e.addend + offset, width);
        StoreSome(conv.y + offset, y, width);
      }
    }
  }
}

void Read(const WinogradConv& conv, const WinogradTiles& tiles, Size begin, Size end, float* v) {
  for (Size t = begin; t < end; ++t) {
    float* to = v + t * conv.channels;
    if (conv.m == 2) {
      ReadTile<2>(conv, tiles.first + t, to, tiles.stride);
    } else {
      ReadTile<4>(conv, tiles.first + t, to, tiles.stride);
    }
  }
}

void Write(const WinogradConv& conv, const WinogradTiles& tiles, Size begin, Size end,
           const float* p) {
  WithActivation(conv.epilogue, [&](auto activate) HEADRACE_INLINE_LAMBDA {
    for (Size t = begin; t < end; ++t) {
      const float* from = p + t * conv.outputs;
      if (conv.m == 2) {
        WriteTile<2>(conv, tiles.first + t, from, tiles.stride, activate);
      } else {
        WriteTile<4>(conv, tiles.first + t, from, tiles.stride, activate);
      }
    }
  });
}

}  // namespace

extern const WinogradTable kWinograd = {Read, Write};

}  // namespace headrace::cpu::HEADRACE_ISA
