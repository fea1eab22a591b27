// Fourier transforms of complex float32 numbers, of any length.
//
// A length without a prime factor above 13 is `lanes` x `columns`, with up to sixteen lanes. A lane
// has every `lanes`-th number: the registers of all lanes go through the same passes, each of which
// makes transforms `radix` times as long of those that it finds (Stockham's: what it writes is in
// order). Then every column is turned and the lanes are joined by one more transform of `lanes`
// numbers, for sixteen columns at a time. Other lengths are a convolution with a chirp (Bluestein),
// and that is two transforms of a length of the first kind.
//
// Which number is added to which depends on the length alone.
#pragma once

#include <vector>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

constexpr double kPi = 3.14159265358979323846;
constexpr int kFourierLanes = 16;
constexpr Size kFourierColumn = 2 * kFourierLanes;  // floats: sixteen real parts, then imaginary

// Numbers that lie one after another: pairs of a real and an imaginary part, or real ones alone. Of
// `floats` that are there; what is read beyond them is 0.
struct FourierSource {
  const float* from;
  Size floats;
  bool is_pairs;
};

struct FourierPass {
  int radix;
  Size length;         // of a transform that is still to be made
  Size stride;         // how many of them there are
  const float* roots;  // cosine and sine of each part of a circle that is cut in `radix`
  const float* turns;  // pairs [length / radix][radix - 1]
};

struct FourierJoin {
  int lanes;
  Size columns;
  const float* roots;
  const float* turns;  // [columns][kFourierColumn]
};

struct FourierTable {
  // Columns [begin, end). With `is_swapped` the parts of each number change places.
  void (*load)(const FourierSource& x, bool is_swapped, int lanes, float* to, Size begin, Size end);
  // Butterflies [begin, end) of columns / radix.
  void (*pass)(const FourierPass& pass, const float* from, float* to, Size begin, Size end);
  // Blocks [begin, end) of sixteen columns; y: pairs.
  void (*join)(const FourierJoin& join, const float* from, bool is_swapped, float* y, Size begin,
               Size end);
  // y = x * by, pairs [0, count).
  void (*multiply)(const float* x, const float* by, float* y, Size count);
  // Bins [begin, end), 1 <= begin and end <= half, of a real signal of 2 * half numbers, of the
  // transform z of its pairs. turns: pairs [half].
  void (*unfold)(const float* z, Size half, const float* turns, float* y, Size begin, Size end);
  // And back: pairs z whose inverse transform is that signal, of its bins.
  void (*fold)(const float* x, Size half, const float* turns, float* z, Size begin, Size end);
};

HEADRACE_TABLE(FourierTable, Fouriers)

// Of a length whose prime factors are 13 at most.
class SmoothFourier {
 public:
  // Numbers of the result are multiplied by `scale`.
  SmoothFourier(Size length, double scale);

  static bool Fits(Size length);
  static Size ScratchFloats(Size length);

  // y: pairs, on other memory than x. An inverse transform is that of the parts in each other's
  // place.
  void Run(const FourierSource& x, bool is_inverse, float* y, float* scratch) const;

 private:
  struct Pass {
    int radix;
    Size length, stride, turns;  // where they begin
    std::vector<float> roots;
  };
  std::vector<Pass> passes_;
  std::vector<float> pass_turns_, join_turns_, join_roots_;
  int lanes_;
  Size columns_;
};

// Of any length.
class Fourier {
 public:
  Fourier(Size length, bool is_inverse, double scale);

  static Size ScratchFloats(Size length);

  // y: pairs, on other memory than x.
  void Run(const FourierSource& x, float* y, float* scratch) const;

 private:
  Size length_;
  bool is_inverse_;
  SmoothFourier smooth_;
  Size padded_ = 0;  // of a convolution: its length
  std::vector<float> chirp_, chirp_bins_;
};

// A pair for each of `count` parts of a circle that is cut in `parts`, clockwise.
std::vector<float> FourierTurns(Size count, Size parts);

}  // namespace headrace::cpu
