// Resizing of the spatial dimensions, channels last.
#include <algorithm>
#include <cmath>

#include "descriptor.h"
#include "enums.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

// Where an output position lies in the input.
enum class Grid { kCorners, kCenters, kPlain };

struct Interp : Object {
  MLUSIM_OBJECT("interp descriptor")

  bool was_set = false;
  InterpMode mode = InterpMode::kNearest;
  Grid grid = Grid::kPlain;
};

Grid GridOf(bool align_corners, bool align_centers) {
  if (align_corners && align_centers) {
    throw Failure(Fault::kNotSupported, "corners and centers at once");
  }
  return align_corners ? Grid::kCorners : align_centers ? Grid::kCenters : Grid::kPlain;
}

float Source(Grid grid, std::int64_t at, std::int64_t in, std::int64_t out) {
  const float place = static_cast<float>(at);
  switch (grid) {
    case Grid::kCorners:
      return out == 1 ? 0 : place * static_cast<float>(in - 1) / static_cast<float>(out - 1);
    case Grid::kCenters:
      return (place + 0.5f) * static_cast<float>(in) / static_cast<float>(out) - 0.5f;
    default:
      return place * static_cast<float>(in) / static_cast<float>(out);
  }
}

// The two neighbours of a position along one dimension, and how much of the second.
struct Pair {
  std::int64_t low, high;
  float part;
};

Pair Linear(Grid grid, std::int64_t at, std::int64_t in, std::int64_t out) {
  const float source = std::max(Source(grid, at, in, out), 0.0f);
  const std::int64_t low = std::min<std::int64_t>(static_cast<std::int64_t>(source), in - 1);
  return {low, std::min(low + 1, in - 1), source - static_cast<float>(low)};
}

Pair Nearest(Grid grid, std::int64_t at, std::int64_t in, std::int64_t out) {
  float source = Source(grid, at, in, out);
  // Centers were moved by half a pixel, corners are rounded, and a plain grid is cut off.
  if (grid != Grid::kPlain) source += 0.5f;
  const std::int64_t place =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(source)), 0, in - 1);
  return {place, place, 0};
}

std::vector<float> Resize(bool nearest, Grid grid, const Dims& in, const Dims& out,
                          const std::vector<float>& x) {
  const std::size_t spatial = in.size() - 2;
  std::vector<std::vector<Pair>> pairs(spatial);
  for (std::size_t axis = 0; axis < spatial; ++axis) {
    for (std::int64_t at = 0; at < out[axis + 1]; ++at) {
      pairs[axis].push_back((nearest ? Nearest : Linear)(grid, at, in[axis + 1], out[axis + 1]));
    }
  }
  const std::int64_t channels = in.back();
  std::int64_t positions = 1, in_positions = 1;
  for (std::size_t axis = 1; axis <= spatial; ++axis) {
    positions *= out[axis];
    in_positions *= in[axis];
  }
  std::vector<float> y(in[0] * positions * channels, 0.0f);
  for (std::int64_t row = 0; row < in[0] * positions; ++row) {
    for (unsigned corner = 0; corner < (1u << spatial); ++corner) {
      float weight = 1;
      std::int64_t pixel = 0, rest = row % positions, step = 1;
      for (std::size_t axis = spatial; axis-- > 0;) {
        const Pair& pair = pairs[axis][rest % out[axis + 1]];
        rest /= out[axis + 1];
        const bool high = corner >> axis & 1;
        weight *= high ? pair.part : 1 - pair.part;
        pixel += (high ? pair.high : pair.low) * step;
        step *= in[axis + 1];
      }
      if (weight == 0) continue;
      const float* source = x.data() + (row / positions * in_positions + pixel) * channels;
      for (std::int64_t c = 0; c < channels; ++c) y[row * channels + c] += weight * source[c];
    }
  }
  return y;
}

void Run(void* handle, InterpMode mode, Grid grid, void* in_desc, const void* in_data,
         void* out_desc, void* out_data) {
  Op op(handle);
  const Tensor from = op.Describe(in_desc, "the input"), to = op.Describe(out_desc, "the output");
  Op::RequireType(from, {kFloat, kHalf, kBfloat16}, "the input");
  Op::RequireSameType(from, to);
  switch (mode) {
    case InterpMode::kNearest:
      if (from.rank() == 3)
        Op::RequireLayout(from, {NLC}, 3, "the input");
      else if (from.rank() == 5)
        Op::RequireLayout(from, {NDHWC}, 5, "the input");
      else
        Op::RequireLayout(from, {NHWC}, 4, "the input");
      break;
    case InterpMode::kLinear:
      Op::RequireLayout(from, {NLC}, 3, "the input");
      break;
    case InterpMode::kBilinear:
      Op::RequireLayout(from, {NHWC}, 4, "the input");
      break;
    case InterpMode::kTrilinear:
      Op::RequireLayout(from, {NDHWC}, 5, "the input");
      break;
    default:
      throw Failure(Fault::kNotSupported, "the coefficients of bicubic are not documented");
  }
  Op::RequireLayout(to, {from.layout}, from.rank(), "the output");
  Op::Require(from.dims[0] == to.dims[0] && from.dims.back() == to.dims.back(),
              Text("shapes ", from.DescribeShape(), " and ", to.DescribeShape(),
                   " differ in pictures or channels"));
  Op::Require(IsEmpty(to) || !IsEmpty(from), "nothing to take from");
  if (IsEmpty(to)) return;
  const Operand in = op.Read(from, in_data, "the input");
  const Operand out = op.Write(to, out_data, "the output");
  op.Enqueue(8.0 * to.Count(), [=] {
    Store(out, Resize(mode == InterpMode::kNearest, grid, in.dims, out.dims, Load<float>(in)));
  });
}

void Set(void* value, int mode, int transformation) {
  With<Interp>(value, [&](Interp& interp) {
    interp.mode = InterpModeOf(mode);
    switch (InterpGridOf(transformation)) {
      case InterpGrid::kAlgo0:
        interp.grid = Grid::kCenters;
        break;
      case InterpGrid::kAlgo2:
        interp.grid = Grid::kCorners;
        break;
      case InterpGrid::kAlgo3:
        interp.grid = Grid::kPlain;
        break;
    }
    interp.was_set = true;
  });
}

Interp Chosen(void* value) {
  const Lock lock = Guard();
  return SetOf<Interp>(value);
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_CNNL(cnnlInterp,
            (void* handle, bool corners, bool centers, int mode, void* in_desc, const void* in,
             void* out_desc, void* out),
            Run(handle, InterpModeOf(mode), GridOf(corners, centers), in_desc, in, out_desc, out))
MLUSIM_CNNL(cnnlInterp_v2,
            (void* handle, bool corners, bool centers, int mode, const void* scales, bool,
             void* in_desc, const void* in, void* out_desc, void* out),
            if (scales) throw Failure(Fault::kNotSupported, "scales of the caller's own");
            Run(handle, InterpModeOf(mode), GridOf(corners, centers), in_desc, in, out_desc, out))
MLUSIM_LIFETIME(Interp, cnnlCreateInterpDescriptor, cnnlDestroyInterpDescriptor)
MLUSIM_CNNL(cnnlSetInterpDescriptor_v2,
            (void* value, void* in_desc, int mode, int transformation, const double* scales),
            With<Tensor>(in_desc, [](Tensor&) {});
            if (scales) throw Failure(Fault::kNotSupported, "scales of the caller's own");
            Set(value, mode, transformation))
MLUSIM_CNNL(cnnlInterp_v3,
            (void* handle, void* descriptor, void* in_desc, const void* in, void* out_desc,
             void* out),
            const Interp chosen = Chosen(descriptor);
            Run(handle, chosen.mode, chosen.grid, in_desc, in, out_desc, out))
