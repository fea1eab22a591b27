// Pooling over two spatial dimensions, channels last.
#include <algorithm>
#include <cmath>
#include <limits>

#include "descriptor.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

enum Mode { kMax = 0, kAverageWithPadding = 1, kAverageWithoutPadding = 2 };

// One spatial dimension.
struct Side {
  std::int64_t window, before, after, stride, dilation;
};

struct Pooling : Object {
  MLUSIM_OBJECT("pooling descriptor")

  bool was_set = false;
  int mode = kMax;
  bool propagate_nan = false;
  Side sides[2] = {};
  bool ceil = false;
};

void Set(void* value, int mode, int nan, const Side& vertical, const Side& horizontal, bool ceil) {
  With<Pooling>(value, [&](Pooling& pooling) {
    Op::Require(mode >= kMax && mode <= 3, Text(mode, " is no cnnlPoolingMode_t"));
    if (mode == 3) throw Failure(Fault::kNotSupported, "CNNL_POOLING_FIXED");
    for (const Side& side : {vertical, horizontal}) {
      Op::Require(side.window >= 1 && side.stride >= 1 && side.dilation >= 1 && side.before >= 0 &&
                      side.after >= 0,
                  "a window, a stride or a padding is out of range");
    }
    pooling.mode = mode;
    pooling.propagate_nan = nan == 1;
    pooling.sides[0] = vertical;
    pooling.sides[1] = horizontal;
    pooling.ceil = ceil;
    pooling.was_set = true;
  });
}

std::int64_t Length(std::int64_t in, const Side& side, bool ceil) {
  const std::int64_t reach = (side.window - 1) * side.dilation + 1;
  const std::int64_t room = in + side.before + side.after - reach;
  Op::Require(room >= 0, "the window is larger than the padded input");
  std::int64_t length = (room + (ceil ? side.stride - 1 : 0)) / side.stride + 1;
  // The last window begins in the input or in the padding before it.
  if (ceil && (length - 1) * side.stride >= in + side.before) --length;
  return length;
}

std::size_t Scratch(int mode, std::int64_t out_w, std::int64_t out_h) {
  return WorkspaceFor((mode == kMax ? 1 : 2) * static_cast<std::size_t>(out_w + out_h) * 4);
}

// Only averages need the extra input; its content is the stand-in's own, and is looked at when the
// op runs.
std::size_t ExtraCount(int mode, std::int64_t out_w, std::int64_t out_h) {
  return mode == kMax ? 0 : static_cast<std::size_t>(out_w + out_h);
}
std::int32_t ExtraValue(std::size_t place) { return static_cast<std::int32_t>(0x504f4f4c + place); }

struct Range {
  std::int64_t begin = 0;    // position of the first tap
  std::int64_t counted = 0;  // taps inside the padded input
};

Range Taps(std::int64_t out, std::int64_t in, const Side& side) {
  Range range;
  range.begin = out * side.stride - side.before;
  for (std::int64_t k = 0; k < side.window; ++k) {
    range.counted += range.begin + k * side.dilation < in + side.after;
  }
  return range;
}

struct Sums {
  float highest = -std::numeric_limits<float>::infinity();
  float sum = 0;
  std::int64_t inside = 0;
  bool nan = false;
};

float Result(const Pooling& pooling, const Sums& sums, std::int64_t counted) {
  if (pooling.mode == kMax) {
    return sums.nan && pooling.propagate_nan ? std::nanf("") : sums.highest;
  }
  const std::int64_t count = pooling.mode == kAverageWithPadding ? counted : sums.inside;
  return count == 0 ? 0 : sums.sum / static_cast<float>(count);
}

std::vector<float> Pool(const Pooling& pooling, const Dims& in, const Dims& out,
                        const std::vector<float>& x) {
  std::vector<float> y;
  y.reserve(out[0] * out[1] * out[2] * out[3]);
  const Side &vertical = pooling.sides[0], &horizontal = pooling.sides[1];
  std::vector<Sums> sums(out[3]);
  for (std::int64_t n = 0; n < out[0]; ++n) {
    for (std::int64_t oh = 0; oh < out[1]; ++oh) {
      const Range rows = Taps(oh, in[1], vertical);
      for (std::int64_t ow = 0; ow < out[2]; ++ow) {
        const Range columns = Taps(ow, in[2], horizontal);
        std::fill(sums.begin(), sums.end(), Sums());
        for (std::int64_t kh = 0; kh < vertical.window; ++kh) {
          const std::int64_t h = rows.begin + kh * vertical.dilation;
          if (h < 0 || h >= in[1]) continue;
          for (std::int64_t kw = 0; kw < horizontal.window; ++kw) {
            const std::int64_t w = columns.begin + kw * horizontal.dilation;
            if (w < 0 || w >= in[2]) continue;
            const float* pixel = x.data() + ((n * in[1] + h) * in[2] + w) * in[3];
            for (std::int64_t c = 0; c < in[3]; ++c) {
              sums[c].nan |= std::isnan(pixel[c]);
              sums[c].highest = std::fmax(sums[c].highest, pixel[c]);
              sums[c].sum += pixel[c];
              ++sums[c].inside;
            }
          }
        }
        for (const Sums& sum : sums)
          y.push_back(Result(pooling, sum, rows.counted * columns.counted));
      }
    }
  }
  return y;
}

struct Extra {
  bool taken;  // by this form of the call
  const void* pointer;
};

void Forward(void* handle, void* descriptor, const void* alpha, void* x_desc, const void* x,
             const void* beta, Extra extra, void* y_desc, void* y, void* workspace,
             std::size_t bytes) {
  Op op(handle);
  const Pooling pooling = SetOf<Pooling>(descriptor);
  const Tensor x_tensor = op.Describe(x_desc, "x"), y_tensor = op.Describe(y_desc, "y");
  Op::RequireType(x_tensor, {kFloat, kHalf, kBfloat16}, "x");
  Op::RequireSameType(x_tensor, y_tensor);
  Op::RequireLayout(x_tensor, {NHWC}, 4, "x");
  Op::RequireLayout(y_tensor, {NHWC}, 4, "y");
  Op::RequireShape(y_tensor,
                   {x_tensor.dims[0], Length(x_tensor.dims[1], pooling.sides[0], pooling.ceil),
                    Length(x_tensor.dims[2], pooling.sides[1], pooling.ceil), x_tensor.dims[3]},
                   "y");
  Op::Require(!alpha || *static_cast<const float*>(alpha) == 1, "alpha is NULL or 1");
  Op::Require(!beta || *static_cast<const float*>(beta) == 0, "beta is NULL or 0");
  if (IsEmpty(y_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x");
  Operand marks;
  const std::size_t extra_count = ExtraCount(pooling.mode, y_tensor.dims[2], y_tensor.dims[1]);
  if (extra.taken && extra_count > 0) {
    const auto count = static_cast<std::int64_t>(extra_count);
    marks = op.Read(VectorOf(kInt32, count), extra.pointer, "the extra input");
  }
  const Operand out = op.Write(y_tensor, y, "y");
  op.Workspace(workspace, bytes, Scratch(pooling.mode, y_tensor.dims[2], y_tensor.dims[1]));
  const double taps = 1.0 * pooling.sides[0].window * pooling.sides[1].window;
  op.Enqueue(taps * y_tensor.Count(), [=] {
    if (marks.data) {
      const auto values = Load<std::int64_t>(marks);
      for (std::size_t place = 0; place < values.size(); ++place) {
        if (values[place] == ExtraValue(place)) continue;
        throw Misuse("extra-input", Fault::kQueueFailed,
                     "the extra input is not what cnnlInitPoolingExtraInput wrote");
      }
    }
    Store(out, Pool(pooling, in.dims, out.dims, Load<float>(in)));
  });
}

void QueryV2(void* handle, void* descriptor, void* x_desc, void* y_desc, std::size_t* size) {
  const Op op(handle);
  op.Describe(x_desc, "x");
  const Tensor y = op.Describe(y_desc, "y");
  Op::RequireLayout(y, {NHWC}, 4, "y");
  Answer(size, Scratch(SetOf<Pooling>(descriptor).mode, y.dims[2], y.dims[1]));
}

void InitExtra(void* handle, void* descriptor, void* x_desc, void* y_desc, void* host) {
  const Op op(handle);
  op.Describe(x_desc, "x");
  const Tensor y = op.Describe(y_desc, "y");
  Op::RequireLayout(y, {NHWC}, 4, "y");
  const std::size_t count = ExtraCount(SetOf<Pooling>(descriptor).mode, y.dims[2], y.dims[1]);
  if (count == 0) return;
  Needed(host, "the host buffer");
  if (IsCardAddress(host)) {
    throw Misuse("card-pointer", Fault::kInvalidArgument,
                 "the extra input is prepared in host memory and then copied");
  }
  for (std::size_t place = 0; place < count; ++place) {
    static_cast<std::int32_t*>(host)[place] = ExtraValue(place);
  }
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_LIFETIME(Pooling, cnnlCreatePoolingDescriptor, cnnlDestroyPoolingDescriptor)
MLUSIM_CNNL(cnnlSetPooling2dDescriptor,
            (void* value, int mode, int nan, int window_h, int window_w, int top, int bottom,
             int left, int right, int stride_v, int stride_h),
            Set(value, mode, nan, {window_h, top, bottom, stride_v, 1},
                {window_w, left, right, stride_h, 1}, false))
MLUSIM_CNNL(cnnlSetPooling2dDescriptor_v2,
            (void* value, int mode, int nan, int window_h, int window_w, int top, int bottom,
             int left, int right, int stride_v, int stride_h, int dilation_v, int dilation_h,
             bool ceil),
            Set(value, mode, nan, {window_h, top, bottom, stride_v, dilation_v},
                {window_w, left, right, stride_h, dilation_h}, ceil))
MLUSIM_CNNL(cnnlGetPoolingWorkspaceSize,
            (void* handle, int mode, int out_w, int out_h, std::size_t* size), const Op op(handle);
            Answer(size, Scratch(mode, out_w, out_h)))
MLUSIM_CNNL(cnnlGetPoolingWorkspaceSize_v2,
            (void* handle, void* descriptor, void* x_desc, void* y_desc, std::size_t* size),
            QueryV2(handle, descriptor, x_desc, y_desc, size))
MLUSIM_CNNL(cnnlGetPoolingExtraInputSize,
            (void* handle, int mode, int out_w, int out_h, std::size_t* size), const Op op(handle);
            Answer(size, ExtraCount(mode, out_w, out_h) * sizeof(std::int32_t)))
MLUSIM_CNNL(cnnlInitPoolingExtraInput,
            (void* handle, void* descriptor, void* x_desc, void* y_desc, void* host),
            InitExtra(handle, descriptor, x_desc, y_desc, host))
MLUSIM_CNNL(cnnlPoolingForward,
            (void* handle, void* descriptor, const void* alpha, void* x_desc, const void* x,
             const void* beta, void* y_desc, void* y, void* workspace, std::size_t bytes),
            Forward(handle, descriptor, alpha, x_desc, x, beta, {false, nullptr}, y_desc, y,
                    workspace, bytes))
MLUSIM_CNNL(cnnlPoolingForward_v2,
            (void* handle, void* descriptor, const void* alpha, void* x_desc, const void* x,
             const void* beta, const void* extra, void* y_desc, void* y, void* workspace,
             std::size_t bytes),
            Forward(handle, descriptor, alpha, x_desc, x, beta, {true, extra}, y_desc, y, workspace,
                    bytes))
