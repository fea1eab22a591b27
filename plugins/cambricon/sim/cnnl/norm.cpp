// Normalisations: by given statistics, or by those of each picture or row.
#include <cmath>

#include "descriptor.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

// A descriptor without a setter that is known.
struct Norm : Object {
  MLUSIM_OBJECT("norm descriptor")
};

// Statistics and factors are float also where the data is half.
void RequireParameters(const Tensor& parameters, const Tensor& x, std::int64_t count,
                       const char* role) {
  if (parameters.type != kFloat) Op::RequireSameType(parameters, x);
  Op::Require(parameters.Count() == count,
              Text(role, " of shape ", parameters.DescribeShape(), " with ", count, " expected"));
}

void BatchNorm(void* handle, void* x_desc, const void* x, void* channel_desc, const void* weight,
               const void* bias, const void* mean, const void* variance, float epsilon,
               void* z_desc, void* z) {
  Op op(handle);
  const Tensor x_tensor = op.Describe(x_desc, "x"), z_tensor = op.Describe(z_desc, "z");
  const Tensor channels = op.Describe(channel_desc, "the channel parameters");
  Op::RequireType(x_tensor, kFloats, "x");
  Op::RequireSameType(x_tensor, z_tensor);
  Op::RequireSameShape(x_tensor, z_tensor);
  switch (x_tensor.rank()) {
    case 2:
      Op::RequireLayout(x_tensor, {NC}, 2, "x");
      break;
    case 3:
      Op::RequireLayout(x_tensor, {NLC}, 3, "x");
      break;
    case 5:
      Op::RequireLayout(x_tensor, {NDHWC}, 5, "x");
      break;
    default:
      Op::RequireLayout(x_tensor, {NHWC}, 4, "x");
  }
  Op::Require(channels.rank() == 1, "the channel parameters have one dimension");
  RequireParameters(channels, x_tensor, x_tensor.dims.back(), "the channel parameters");
  if (IsEmpty(x_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x");
  const Operand weights = op.Read(channels, weight, "weight");
  const Operand biases = op.Read(channels, bias, "bias");
  const Operand means = op.Read(channels, mean, "mean");
  const Operand variances = op.Read(channels, variance, "variance");
  const Operand out = op.Write(z_tensor, z, "z", true);
  op.Enqueue(4.0 * x_tensor.Count(), [=] {
    const std::vector<float> w = Load<float>(weights), b = Load<float>(biases);
    const std::vector<float> m = Load<float>(means), v = Load<float>(variances);
    std::vector<float> values = Load<float>(in);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t c = i % w.size();
      values[i] = (values[i] - m[c]) / std::sqrt(v[c] + epsilon) * w[c] + b[c];
    }
    Store(out, values);
  });
}

// mean and variance for each picture and channel, scale and bias for each channel.
void InstanceNorm(void* handle, void* x_desc, const void* x, void* stat_desc, const void* mean,
                  const void* variance, void* channel_desc, const void* scale, const void* bias,
                  float epsilon, void* y_desc, void* y) {
  Op op(handle);
  const Tensor x_tensor = op.Describe(x_desc, "x"), y_tensor = op.Describe(y_desc, "y");
  const Tensor stats = op.Describe(stat_desc, "the statistics");
  const Tensor channels = op.Describe(channel_desc, "the channel parameters");
  Op::RequireType(x_tensor, kFloats, "x");
  Op::RequireSameType(x_tensor, y_tensor);
  Op::RequireSameShape(x_tensor, y_tensor);
  Op::RequireLayout(x_tensor, {NHWC}, 4, "x");
  RequireParameters(stats, x_tensor, x_tensor.dims[0] * x_tensor.dims[3], "the statistics");
  RequireParameters(channels, x_tensor, x_tensor.dims[3], "the channel parameters");
  if (IsEmpty(x_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x");
  const Operand means = op.Read(stats, mean, "mean");
  const Operand variances = op.Read(stats, variance, "variance");
  const Operand scales = op.Read(channels, scale, "scale");
  const Operand biases = op.Read(channels, bias, "bias");
  const Operand out = op.Write(y_tensor, y, "y", true);
  op.Enqueue(4.0 * x_tensor.Count(), [=] {
    const std::vector<float> m = Load<float>(means), v = Load<float>(variances);
    const std::vector<float> s = Load<float>(scales), b = Load<float>(biases);
    std::vector<float> values = Load<float>(in);
    const std::size_t picture = values.size() / in.dims[0];
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t c = i % s.size(), row = i / picture * s.size() + c;
      values[i] = (values[i] - m[row]) / std::sqrt(v[row] + epsilon) * s[c] + b[c];
    }
    Store(out, values);
  });
}

struct Moments {
  std::vector<float> mean, variance;
};

// Of `groups` runs of elements, element i belonging to group_of(i); the squares are summed about
// the mean.
template <typename GroupOf>
Moments MomentsOf(const std::vector<float>& values, std::size_t groups, GroupOf group_of) {
  std::vector<double> sums(groups), squares(groups);
  const double count = static_cast<double>(values.size()) / static_cast<double>(groups);
  for (std::size_t i = 0; i < values.size(); ++i) sums[group_of(i)] += values[i];
  for (double& sum : sums) sum /= count;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double distance = values[i] - sums[group_of(i)];
    squares[group_of(i)] += distance * distance;
  }
  Moments moments;
  for (std::size_t group = 0; group < groups; ++group) {
    moments.mean.push_back(static_cast<float>(sums[group]));
    moments.variance.push_back(static_cast<float>(squares[group] / count));
  }
  return moments;
}

// What a normalisation by its own statistics reads and writes; without data what is not given.
struct Sides {
  Operand in, factor, bias, out, mean, inverse_deviation;
};

struct Pointers {
  const void *x, *factor, *bias;
  void *y, *mean, *inverse_deviation;
};

// `factors` and `statistics` are looked at only where there is a pointer that they describe.
Sides Use(Op& op, const Tensor& x, const Tensor& factors, const Tensor& y, const Tensor& statistics,
          const Pointers& given) {
  Sides sides;
  sides.in = op.Read(x, given.x, "x");
  if (given.factor) sides.factor = op.Read(factors, given.factor, "the factors");
  if (given.bias) sides.bias = op.Read(factors, given.bias, "bias");
  sides.out = op.Write(y, given.y, "y", true);
  if (given.mean) sides.mean = op.Write(statistics, given.mean, "the mean");
  if (given.inverse_deviation) {
    sides.inverse_deviation =
        op.Write(statistics, given.inverse_deviation, "the inverse deviation");
  }
  return sides;
}

// Factors and biases repeat after `period` elements; the rest as for MomentsOf.
template <typename GroupOf>
void Standardise(const Sides& sides, std::size_t groups, std::size_t period, float epsilon,
                 GroupOf group_of) {
  std::vector<float> values = Load<float>(sides.in);
  Moments moments = MomentsOf(values, groups, group_of);
  for (float& value : moments.variance) value = 1 / std::sqrt(value + epsilon);
  const auto given = [period](const Operand& operand, float otherwise) {
    return operand.data ? Load<float>(operand) : std::vector<float>(period, otherwise);
  };
  const std::vector<float> factor = given(sides.factor, 1), bias = given(sides.bias, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t place = i % period, group = group_of(i);
    values[i] =
        (values[i] - moments.mean[group]) * moments.variance[group] * factor[place] + bias[place];
  }
  Store(sides.out, values);
  if (sides.mean.data) Store(sides.mean, moments.mean);
  if (sides.inverse_deviation.data) Store(sides.inverse_deviation, moments.variance);
}

std::size_t NormScratch(const Tensor& x) { return WorkspaceFor(x.dims[0] * x.dims.back() * 8); }

void QueryNorm(void* handle, void* x_desc, std::size_t* size) {
  const Op op(handle);
  Answer(size, NormScratch(op.Describe(x_desc, "x")));
}

void InstanceForward(void* handle, float epsilon, void* channel_desc, const void* scale,
                     void* x_desc, const void* x, const void* bias, void* stat_desc,
                     void* moving_mean, void* moving_variance, void* workspace, std::size_t bytes,
                     void* y_desc, void* y, void* saved_mean, void* saved_invstd) {
  Op op(handle);
  const Tensor x_tensor = op.Describe(x_desc, "x"), y_tensor = op.Describe(y_desc, "y");
  const Tensor channels = op.Describe(channel_desc, "the channel parameters");
  Op::RequireType(x_tensor, kFloats, "x");
  Op::RequireSameType(x_tensor, y_tensor);
  Op::RequireSameShape(x_tensor, y_tensor);
  Op::RequireLayout(x_tensor, {NHWC}, 4, "x");
  RequireParameters(channels, x_tensor, x_tensor.dims[3], "the channel parameters");
  if (moving_mean || moving_variance) {
    throw Failure(Fault::kNotSupported, "how moving statistics are kept is not documented");
  }
  Tensor stats;
  if (saved_mean || saved_invstd) {
    stats = op.Describe(stat_desc, "the statistics");
    RequireParameters(stats, x_tensor, x_tensor.dims[0] * x_tensor.dims[3], "the statistics");
  }
  if (IsEmpty(x_tensor)) return;
  const Sides sides =
      Use(op, x_tensor, channels, y_tensor, stats, {x, scale, bias, y, saved_mean, saved_invstd});
  op.Workspace(workspace, bytes, NormScratch(x_tensor));
  op.Enqueue(8.0 * x_tensor.Count(), [=] {
    const std::size_t channel_count = x_tensor.dims[3], pictures = x_tensor.dims[0];
    const std::size_t picture = x_tensor.Count() / pictures;
    Standardise(sides, pictures * channel_count, channel_count, epsilon,
                [=](std::size_t i) { return i / picture * channel_count + i % channel_count; });
  });
}

// Over the dimensions from `axis` on.
void LayerNorm(void* handle, void* x_desc, const void* x, int axis_value, void* factor_desc,
               const void* weight, const void* bias, float epsilon, void* workspace,
               std::size_t bytes, void* y_desc, void* y, void* stat_desc, void* mean, void* rstd) {
  Op op(handle);
  const Tensor x_tensor = op.Describe(x_desc, "x"), y_tensor = op.Describe(y_desc, "y");
  Op::RequireType(x_tensor, kFloats, "x");
  Op::RequireSameType(x_tensor, y_tensor);
  Op::RequireSameShape(x_tensor, y_tensor);
  const int axis = Op::AxisOf(x_tensor, axis_value);
  std::int64_t length = 1;
  for (int dim = axis; dim < x_tensor.rank(); ++dim) length *= x_tensor.dims[dim];
  Tensor factors, stats;
  if (weight || bias) {
    factors = op.Describe(factor_desc, "weight and bias");
    RequireParameters(factors, x_tensor, length, "weight and bias");
  }
  if (mean || rstd) {
    stats = op.Describe(stat_desc, "the statistics");
    RequireParameters(stats, x_tensor, length == 0 ? 0 : x_tensor.Count() / length,
                      "the statistics");
  }
  if (IsEmpty(x_tensor)) return;
  const Sides sides = Use(op, x_tensor, factors, y_tensor, stats, {x, weight, bias, y, mean, rstd});
  op.Workspace(workspace, bytes, WorkspaceFor(length * 4));
  op.Enqueue(8.0 * x_tensor.Count(), [=] {
    Standardise(sides, x_tensor.Count() / length, length, epsilon,
                [=](std::size_t i) { return i / length; });
  });
}

void QueryLayerNorm(void* handle, int axis, void* x_desc, std::size_t* size) {
  const Op op(handle);
  const Tensor x = op.Describe(x_desc, "x");
  std::int64_t length = 1;
  for (int dim = Op::AxisOf(x, axis); dim < x.rank(); ++dim) length *= x.dims[dim];
  Answer(size, WorkspaceFor(length * 4));
}

// The standard deviation along one dimension, which stays as 1.
void Deviation(void* handle, int axis_value, bool unbiased, void* x_desc, const void* x,
               void* y_desc, void* y) {
  Op op(handle);
  const Tensor x_tensor = op.Describe(x_desc, "x"), y_tensor = op.Describe(y_desc, "y");
  Op::RequireType(x_tensor, kFloats, "x");
  Op::RequireSameType(x_tensor, y_tensor);
  const int axis = Op::AxisOf(x_tensor, axis_value);
  Dims kept = x_tensor.dims;
  kept[axis] = 1;
  Op::RequireShape(y_tensor, kept, "y");
  if (IsEmpty(x_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x"), out = op.Write(y_tensor, y, "y");
  op.Enqueue(4.0 * x_tensor.Count(), [=] {
    const std::vector<float> values = Load<float>(in);
    const std::size_t length = in.dims[axis], step = ContiguousStrides(in.dims)[axis];
    const auto group_of = [=](std::size_t i) { return i / (step * length) * step + i % step; };
    Moments moments = MomentsOf(values, values.size() / length, group_of);
    const float factor = unbiased && length > 1 ? static_cast<float>(length) / (length - 1) : 1;
    for (float& value : moments.variance) value = std::sqrt(value * factor);
    Store(out, moments.variance);
  });
}

void NoFactors(const void* alpha, const void* beta) {
  Op::Require(!alpha || *static_cast<const float*>(alpha) == 1, "alpha is NULL or 1");
  Op::Require(!beta || *static_cast<const float*>(beta) == 0, "beta is NULL or 0");
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_CNNL(cnnlBatchNormForwardInference,
            (void* handle, const void* alpha, const void* beta, void* x_desc, const void* x,
             void* channel_desc, const void* weight, const void* bias, const void* mean,
             const void* variance, float epsilon, void* z_desc, void* z),
            NoFactors(alpha, beta);
            BatchNorm(handle, x_desc, x, channel_desc, weight, bias, mean, variance, epsilon,
                      z_desc, z))
MLUSIM_CNNL(cnnlInstanceNormInference,
            (void* handle, void* x_desc, const void* x, void* stat_desc, const void* mean,
             const void* variance, void* channel_desc, const void* scale, const void* bias,
             float epsilon, void* y_desc, void* y),
            InstanceNorm(handle, x_desc, x, stat_desc, mean, variance, channel_desc, scale, bias,
                         epsilon, y_desc, y))
MLUSIM_CNNL(cnnlGetInstanceNormForwardWorkspaceSize,
            (void* handle, void* x_desc, std::size_t* size), QueryNorm(handle, x_desc, size))
MLUSIM_CNNL(cnnlInstanceNormForward,
            (void* handle, float epsilon, float /* momentum */, void* channel_desc,
             const void* scale, void* x_desc, const void* x, const void* bias, void* stat_desc,
             void* moving_mean, void* moving_variance, void* workspace, std::size_t bytes,
             void* y_desc, void* y, void* saved_mean, void* saved_invstd),
            InstanceForward(handle, epsilon, channel_desc, scale, x_desc, x, bias, stat_desc,
                            moving_mean, moving_variance, workspace, bytes, y_desc, y, saved_mean,
                            saved_invstd))
MLUSIM_CNNL(cnnlStdForward,
            (void* handle, int axis, bool unbiased, void* x_desc, const void* x, void* y_desc,
             void* y),
            Deviation(handle, axis, unbiased, x_desc, x, y_desc, y))

MLUSIM_LIFETIME(Norm, cnnlCreateNormDesc, cnnlDestroyNormDesc)
MLUSIM_CNNL(cnnlGetLayerNormOpWorkspaceSize,
            (void* handle, int axis, void* x_desc, std::size_t* size),
            QueryLayerNorm(handle, axis, x_desc, size))
MLUSIM_CNNL(cnnlLayerNormForward,
            (void* handle, void* x_desc, const void* x, int axis, void* factor_desc,
             const void* weight, const void* bias, float epsilon, void* workspace,
             std::size_t bytes, void* y_desc, void* y, void* stat_desc, void* mean, void* rstd),
            LayerNorm(handle, x_desc, x, axis, factor_desc, weight, bias, epsilon, workspace, bytes,
                      y_desc, y, stat_desc, mean, rstd))
MLUSIM_CNNL(cnnlLayerNormForward_v2,
            (void* handle, void* norm, void* x_desc, const void* x, int axis, void* factor_desc,
             const void* weight, const void* bias, float epsilon, void* workspace,
             std::size_t bytes, void* y_desc, void* y, void* stat_desc, void* mean, void* rstd),
            With<Norm>(norm, [](Norm&) {});
            LayerNorm(handle, x_desc, x, axis, factor_desc, weight, bias, epsilon, workspace, bytes,
                      y_desc, y, stat_desc, mean, rstd))
