// Convolutions of 3x3 taps and stride 1 by Winograd's algorithms: fewer multiplications, more
// additions. Images whose channels are last, float32.
//
// The output is cut into tiles of m x m. What a tile reads, (m + 2) x (m + 2), is transformed; for
// each of its (m + 2)^2 places a product of matrices sums over the channels; and what these give is
// transformed back. Weights are transformed when they are packed.
#pragma once

#include "kernels/machine/isa.h"
#include "kernels/products/gemm.h"

namespace headrace::cpu {

// x [n, in[0], in[1], channels], y [n, out[0], out[1], outputs].
struct WinogradConv {
  Size n, channels, outputs;
  Size in[2], out[2], pad[2];
  Size m;  // 2 or 4
  const float* x;
  const float* panels;  // [(m + 2)^2][outputs / 16][channels][16], filled up with zeros
  float* y;
  Epilogue epilogue;  // the addend has the shape of y
};

// With all threads.
void Convolve(const WinogradConv& conv);

// Kernels [outputs, 3, 3, channels] that lie in any way; `strides` in floats.
struct WinogradWeight {
  Size outputs, channels;
  Size m;
  const float* first;
  Size strides[4];
};

// Transforms them, in double precision, and lays them out as `WinogradConv` reads them.
void Pack(const WinogradWeight& weight, float* panels);

// Some tiles, counted image by image and row by row, and how their places lie.
struct WinogradTiles {
  Size first;
  Size count;
  Size stride;  // tiles from one place of the tile to the next one, in the transformed numbers
};

struct WinogradTable {
  // What tiles [begin, end) of `tiles` read, transformed, to v [(m + 2)^2][stride][channels].
  void (*read)(const WinogradConv& conv, const WinogradTiles& tiles, Size begin, Size end,
               float* v);
  // From p [(m + 2)^2][stride][outputs] back to y, and what follows.
  void (*write)(const WinogradConv& conv, const WinogradTiles& tiles, Size begin, Size end,
                const float* p);
};
HEADRACE_TABLE(WinogradTable, Winograd)

}  // namespace headrace::cpu
