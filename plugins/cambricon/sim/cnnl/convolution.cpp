// Convolution of two or three spatial dimensions, channels last, in floating or fixed point.
#include <algorithm>
#include <array>

#include "descriptor.h"
#include "enums.h"
#include "op.h"
#include "quantized.h"
#include "values.h"

namespace mlusim::network {
namespace {

struct Convolution : Object {
  MLUSIM_OBJECT("convolution descriptor")

  bool was_set = false;
  int rank = 0;  // of the tensors
  // Spatial, outermost first; pad before and after each.
  std::vector<int> before, after, stride, dilation;
  int groups = 1;
};

void Set(void* value, int rank, const int* pad, const int* stride, const int* dilation,
         int groups) {
  Needed(pad, "the padding");
  Needed(stride, "the strides");
  Needed(dilation, "the dilations");
  With<Convolution>(value, [&](Convolution& conv) {
    Op::Require(rank == 4 || rank == 5,
                Text("a convolution of tensors with ", rank, " dimensions"));
    Op::Require(groups >= 1, Text("the number of groups is ", groups));
    conv.rank = rank;
    conv.groups = groups;
    conv.before.clear();
    conv.after.clear();
    for (int axis = 0; axis < rank - 2; ++axis) {
      Op::Require(pad[2 * axis] >= 0 && pad[2 * axis + 1] >= 0, "a padding is negative");
      Op::Require(stride[axis] >= 1 && dilation[axis] >= 1,
                  "a stride or a dilation is not positive");
      conv.before.push_back(pad[2 * axis]);
      conv.after.push_back(pad[2 * axis + 1]);
    }
    conv.stride.assign(stride, stride + rank - 2);
    conv.dilation.assign(dilation, dilation + rank - 2);
    conv.was_set = true;
  });
}

// x (N, spatial..., Ci) and w (Co, kernel..., Ci / groups) give y (N, spatial..., Co).
Dims OutputShape(const Convolution& conv, const Tensor& x, const Tensor& w) {
  Op::Require(
      x.rank() == conv.rank && w.rank() == conv.rank,
      Text("x has ", x.rank(), " and w ", w.rank(), " dimensions, the descriptor ", conv.rank));
  Op::Require(w.dims.back() * conv.groups == x.dims.back() && w.dims[0] % conv.groups == 0,
              Text("x of shape ", x.DescribeShape(), " does not go with w of shape ",
                   w.DescribeShape(), " in ", conv.groups, " groups"));
  Dims shape{x.dims[0]};
  for (int axis = 0; axis < conv.rank - 2; ++axis) {
    const std::int64_t reach = (w.dims[axis + 1] - 1) * conv.dilation[axis] + 1;
    const std::int64_t room = x.dims[axis + 1] + conv.before[axis] + conv.after[axis] - reach;
    Op::Require(room >= 0, Text("the kernel is larger than the padded input in dimension ", axis));
    shape.push_back(room / conv.stride[axis] + 1);
  }
  shape.push_back(w.dims[0]);
  return shape;
}

std::size_t Scratch(const Tensor& w) { return WorkspaceFor(w.ExtentBytes()); }

// Everything about the loops, with three spatial dimensions; a missing one is 1 long.
struct Loops {
  std::int64_t batch, in_channels, out_channels, groups;
  std::array<std::int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1};
  std::array<std::int64_t, 3> stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};
};

Loops LoopsOf(const Convolution& conv, const Dims& x, const Dims& w, const Dims& y) {
  Loops loops;
  loops.batch = x[0];
  loops.in_channels = x.back();
  loops.out_channels = y.back();
  loops.groups = conv.groups;
  const int spatial = conv.rank - 2;
  for (int axis = 0; axis < spatial; ++axis) {
    const int at = 3 - spatial + axis;
    loops.in[at] = x[axis + 1];
    loops.out[at] = y[axis + 1];
    loops.kernel[at] = w[axis + 1];
    loops.stride[at] = conv.stride[axis];
    loops.dilation[at] = conv.dilation[axis];
    loops.pad[at] = conv.before[axis];
  }
  return loops;
}

// From (Co, kernel..., Ci) to (group, kernel..., Ci, Co of the group): the innermost loop then runs
// over output channels, which lie beside each other.
template <typename T>
std::vector<T> Turned(const Loops& loops, const std::vector<T>& w) {
  const std::int64_t per_group = loops.out_channels / loops.groups;
  const std::int64_t taps =
      loops.kernel[0] * loops.kernel[1] * loops.kernel[2] * (loops.in_channels / loops.groups);
  std::vector<T> turned(w.size());
  for (std::int64_t co = 0; co < loops.out_channels; ++co) {
    const std::int64_t group = co / per_group, place = co % per_group;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      turned[(group * taps + tap) * per_group + place] = w[co * taps + tap];
    }
  }
  return turned;
}

// One output position of one group: acc[co] += sum over the window.
template <typename T, typename Sum>
void Window(const Loops& loops, const std::vector<T>& x, const std::vector<T>& w, std::int64_t n,
            std::int64_t group, const std::array<std::int64_t, 3>& at, std::vector<Sum>& acc) {
  const std::int64_t inputs = loops.in_channels / loops.groups;
  const std::int64_t outputs = loops.out_channels / loops.groups;
  std::array<std::int64_t, 3> k{}, p{};
  const auto inside = [&](int axis) {
    p[axis] = at[axis] * loops.stride[axis] + k[axis] * loops.dilation[axis] - loops.pad[axis];
    return p[axis] >= 0 && p[axis] < loops.in[axis];
  };
  for (k[0] = 0; k[0] < loops.kernel[0]; ++k[0]) {
    if (!inside(0)) continue;
    for (k[1] = 0; k[1] < loops.kernel[1]; ++k[1]) {
      if (!inside(1)) continue;
      for (k[2] = 0; k[2] < loops.kernel[2]; ++k[2]) {
        if (!inside(2)) continue;
        const std::int64_t pixel =
            ((n * loops.in[0] + p[0]) * loops.in[1] + p[1]) * loops.in[2] + p[2];
        const std::int64_t tap =
            ((group * loops.kernel[0] + k[0]) * loops.kernel[1] + k[1]) * loops.kernel[2] + k[2];
        const T* in = x.data() + pixel * loops.in_channels + group * inputs;
        const T* weights = w.data() + tap * inputs * outputs;
        for (std::int64_t ci = 0; ci < inputs; ++ci, weights += outputs) {
          const Sum value = in[ci];
          for (std::int64_t co = 0; co < outputs; ++co) {
            acc[co] += value * static_cast<Sum>(weights[co]);
          }
        }
      }
    }
  }
}

template <typename T, typename Sum>
std::vector<float> Convolve(const Loops& loops, const std::vector<T>& x, const std::vector<T>& w,
                            double unit) {
  const std::vector<T> turned = Turned(loops, w);
  const std::int64_t outputs = loops.out_channels / loops.groups;
  const std::int64_t positions = loops.batch * loops.out[0] * loops.out[1] * loops.out[2];
  std::vector<float> y(positions * loops.out_channels);
  std::vector<Sum> acc(outputs);
  std::array<std::int64_t, 3> at{};
  float* target = y.data();
  for (std::int64_t n = 0; n < loops.batch; ++n) {
    for (at[0] = 0; at[0] < loops.out[0]; ++at[0]) {
      for (at[1] = 0; at[1] < loops.out[1]; ++at[1]) {
        for (at[2] = 0; at[2] < loops.out[2]; ++at[2]) {
          for (std::int64_t group = 0; group < loops.groups; ++group) {
            std::fill(acc.begin(), acc.end(), Sum(0));
            Window(loops, x, turned, n, group, at, acc);
            for (const Sum sum : acc) *target++ = static_cast<float>(sum * unit);
          }
        }
      }
    }
  }
  return y;
}

template <typename Wide, typename Narrow>
std::vector<Narrow> Narrowed(const std::vector<Wide>& values) {
  return std::vector<Narrow>(values.begin(), values.end());
}

std::vector<float> Products(const Loops& loops, const Operand& x, const Operand& w) {
  if (x.type != kInt8 && x.type != kInt16) {
    return Convolve<float, float>(loops, Load<float>(x), Load<float>(w), 1);
  }
  const auto left = Narrowed<std::int64_t, std::int32_t>(Load<std::int64_t>(x));
  const auto right = Narrowed<std::int64_t, std::int32_t>(Load<std::int64_t>(w));
  const double unit = Unit(x) * Unit(w);
  if (x.type == kInt8 && w.type == kInt8) {
    return Convolve<std::int32_t, std::int32_t>(loops, left, right, unit);
  }
  return Convolve<std::int32_t, std::int64_t>(loops, left, right, unit);
}

void Forward(void* handle, void* descriptor, int algorithm, const void* alpha, void* x_desc,
             const void* x, void* w_desc, const void* w, void* bias_desc, const void* bias,
             void* workspace, std::size_t bytes, const void* beta, void* y_desc, void* y) {
  Op op(handle);
  const Convolution conv = SetOf<Convolution>(descriptor);
  CheckConvolutionAlgorithm(algorithm);
  const Tensor x_tensor = op.Describe(x_desc, "x"), w_tensor = op.Describe(w_desc, "w");
  const Tensor y_tensor = op.Describe(y_desc, "y");
  RequireFactors(x_tensor, w_tensor, y_tensor);
  const int layout = conv.rank == 4 ? NHWC : NDHWC;
  Op::RequireLayout(x_tensor, {layout}, conv.rank, "x");
  Op::RequireLayout(w_tensor, {layout}, conv.rank, "w");
  Op::RequireLayout(y_tensor, {layout}, conv.rank, "y");
  Op::RequireShape(y_tensor, OutputShape(conv, x_tensor, w_tensor), "y");
  Op::Require((bias_desc == nullptr) == (bias == nullptr), "bias needs a descriptor and a pointer");
  Tensor bias_tensor;
  if (bias_desc) {
    bias_tensor = op.Describe(bias_desc, "bias");
    Op::RequireType(bias_tensor, {kFloat, kHalf, kBfloat16}, "bias");
  }
  if (IsEmpty(y_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x"), weights = op.Read(w_tensor, w, "w");
  Operand added;
  if (bias_desc) {
    // The memory first: a descriptor that is too large is told by the bytes that are not there.
    added = op.Read(bias_tensor, bias, "bias");
    Op::RequireShape(bias_tensor, {w_tensor.dims[0]}, "bias");
  }
  const Operand out = op.Write(y_tensor, y, "y");
  op.Workspace(workspace, bytes, Scratch(w_tensor));
  const float a = FactorAt(alpha, 1);
  const float b = FactorAt(beta, 0);
  const Loops loops = LoopsOf(conv, x_tensor.dims, w_tensor.dims, y_tensor.dims);
  op.Enqueue(2.0 * y_tensor.Count() * w_tensor.Count() / w_tensor.dims[0], [=] {
    std::vector<float> values = Products(loops, in, weights);
    const std::vector<float> biases =
        added.data ? Load<float>(added) : std::vector<float>(loops.out_channels, 0.0f);
    const std::vector<float> old = b != 0 ? Load<float>(out) : std::vector<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = a * values[i] + biases[i % biases.size()] + (b != 0 ? b * old[i] : 0);
    }
    Store(out, values);
  });
}

void QueryScratch(void* handle, void* x_desc, void* w_desc, void* y_desc, void* descriptor,
                  int algorithm, std::size_t* size) {
  const Op op(handle);
  SetOf<Convolution>(descriptor);
  CheckConvolutionAlgorithm(algorithm);
  op.Describe(x_desc, "x");
  op.Describe(y_desc, "y");
  Answer(size, Scratch(op.Describe(w_desc, "w")));
}

void ChooseAlgorithm(void* handle, void* descriptor, int preference, int* algorithm) {
  const Op op(handle);
  SetOf<Convolution>(descriptor);
  CheckConvolutionPreference(preference);
  *Needed(algorithm, "the algorithm") = DirectConvolution();
}

void OutputDim(void* descriptor, void* x_desc, void* w_desc, int count, int* dims) {
  const Lock lock = Guard();
  const Dims shape =
      OutputShape(SetOf<Convolution>(descriptor), *Find<Tensor>(x_desc), *Find<Tensor>(w_desc));
  Op::Require(count == static_cast<int>(shape.size()),
              Text("there is room for ", count, " dimensions, not ", shape.size()));
  std::copy(shape.begin(), shape.end(), Needed(dims, "the dimensions"));
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_LIFETIME(Convolution, cnnlCreateConvolutionDescriptor, cnnlDestroyConvolutionDescriptor)

// The first releases have no compute type; a further argument does not disturb the callee.
MLUSIM_CNNL(cnnlSetConvolutionDescriptor,
            (void* value, int rank, const int* pad, const int* stride, const int* dilation,
             int groups, int /* compute type */),
            Set(value, rank, pad, stride, dilation, groups))
MLUSIM_CNNL(cnnlSetConvolutionDescriptorAllowTF32, (void* value, int),
            With<Convolution>(value, [](Convolution&) {}))

// The same name with 7 arguments in the first releases and with 8, the bias in their middle, in
// later ones.
MLUSIM_CNNL(
    cnnlGetConvolutionForwardWorkspaceSize,
    (void* handle, void* x_desc, void* w_desc, void* y_desc, void* fifth, void* sixth,
     void* seventh, std::size_t* eighth),
    const auto number =
        [](void* value) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(value)); };
    if (kEra == 4) QueryScratch(handle, x_desc, w_desc, y_desc, fifth, number(sixth),
                                static_cast<std::size_t*>(seventh));
    else QueryScratch(handle, x_desc, w_desc, y_desc, sixth, number(seventh), eighth))
MLUSIM_CNNL(cnnlGetConvolutionForwardAlgorithm,
            (void* handle, void* descriptor, void*, void*, void*, int preference, int* algorithm),
            ChooseAlgorithm(handle, descriptor, preference, algorithm))
MLUSIM_CNNL(cnnlGetConvolutionForwardOutputDim,
            (void* descriptor, void* x_desc, void* w_desc, int count, int* dims),
            OutputDim(descriptor, x_desc, w_desc, count, dims))
MLUSIM_CNNL(cnnlConvolutionForward,
            (void* handle, void* descriptor, int algorithm, const void* alpha, void* x_desc,
             const void* x, void* w_desc, const void* w, void* bias_desc, const void* bias,
             void* workspace, std::size_t bytes, const void* beta, void* y_desc, void* y),
            Forward(handle, descriptor, algorithm, alpha, x_desc, x, w_desc, w, bias_desc, bias,
                    workspace, bytes, beta, y_desc, y))
