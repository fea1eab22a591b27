// Activations and prelu.
#include <algorithm>
#include <cmath>

#include "descriptor.h"
#include "enums.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

struct Activation : Object {
  MLUSIM_OBJECT("activation descriptor")

  bool was_set = false;
  ActivationMode mode = ActivationMode::kIdentity;
  bool propagate_nan = false;
  float coefficient = 1;
  float gamma = 1;
  float scale = 1;
  bool approximate = false;  // GELU by tanh
};

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

float Gelu(float x, bool approximate) {
  if (!approximate) return 0.5f * x * (1 + std::erf(x * 0.70710678f));
  return 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
}

// The larger; of a NaN and a number, the number unless NaN is to be seen.
float Above(float x, float low, bool propagate) {
  if (std::isnan(x)) return propagate ? x : low;
  return x > low ? x : low;
}

float Apply(const Activation& activation, float x) {
  const float a = activation.coefficient;
  switch (activation.mode) {
    case ActivationMode::kSigmoid:
      return Sigmoid(x);
    case ActivationMode::kRelu:
      return Above(x, 0, activation.propagate_nan);
    case ActivationMode::kRelu6:
      return std::min(Above(x, 0, activation.propagate_nan), 6.0f);
    case ActivationMode::kClippedRelu:
      return std::min(Above(x, 0, activation.propagate_nan), a);
    case ActivationMode::kTanh:
      return std::tanh(x);
    case ActivationMode::kElu:
      return x > 0 ? x : a * std::expm1(x);
    case ActivationMode::kIdentity:
      return x;
    case ActivationMode::kSelu:
      return activation.scale * (x > 0 ? x : activation.gamma * std::expm1(x));
    case ActivationMode::kGelu:
      return Gelu(x, activation.approximate);
    case ActivationMode::kLeakyRelu:
      return x > 0 ? x : a * x;
    case ActivationMode::kSwish:
    case ActivationMode::kSilu:
      return x * Sigmoid(x);
    case ActivationMode::kHardSigmoid:
      return std::clamp(activation.gamma * x + activation.scale, 0.0f, 1.0f);
    case ActivationMode::kHardSwish:
      return x * std::clamp(x + 3, 0.0f, 6.0f) / 6;
    case ActivationMode::kLogSigmoid:
      return std::min(x, 0.0f) - std::log1p(std::exp(-std::fabs(x)));
    default:
      return x;
  }
}

bool IsKnown(ActivationMode mode) {
  switch (mode) {
    case ActivationMode::kTfLeakyRelu:
    case ActivationMode::kCaffeRelu6:
    case ActivationMode::kGlu:
    case ActivationMode::kEluV2:
    case ActivationMode::kHardShrink:
    case ActivationMode::kSoftShrink:
      return false;
    default:
      return true;
  }
}

void Set(void* value, int mode, int nan, float coefficient, float gamma, float scale,
         bool approximate) {
  With<Activation>(value, [&](Activation& activation) {
    activation.mode = ActivationModeOf(mode);
    activation.propagate_nan = nan == 1;
    activation.coefficient = coefficient;
    activation.gamma = gamma;
    activation.scale = scale;
    activation.approximate = approximate;
    activation.was_set = true;
  });
}

// Without the two parameters that later forms have: SELU has its usual ones, a hard sigmoid has
// none.
void SetPlain(void* value, int mode, int nan, float coefficient) {
  if (ActivationModeOf(mode) == ActivationMode::kHardSigmoid) {
    throw Failure(Fault::kNotSupported, "slope and offset of the hard sigmoid");
  }
  Set(value, mode, nan, coefficient, 1.67326324f, 1.05070098f, false);
}

void Forward(void* handle, void* descriptor, const void* alpha, void* x_descriptor, const void* x,
             const void* beta, void* y_descriptor, void* y) {
  Op op(handle);
  const Activation activation = SetOf<Activation>(descriptor);
  const Tensor x_tensor = op.Describe(x_descriptor, "x"), y_tensor = op.Describe(y_descriptor, "y");
  Op::RequireType(x_tensor, kFloats, "x");
  Op::RequireSameType(x_tensor, y_tensor);
  Op::RequireSameShape(x_tensor, y_tensor);
  if (!IsKnown(activation.mode)) {
    throw Failure(Fault::kNotSupported, "what this activation computes is not documented");
  }
  const float a = FactorAt(alpha, 1);
  const float b = FactorAt(beta, 0);
  if (IsEmpty(x_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x"), out = op.Write(y_tensor, y, "y", true);
  op.Enqueue(8.0 * x_tensor.Count(), [=] {
    std::vector<float> values = Load<float>(in);
    for (float& v : values) v = a * Apply(activation, v);
    if (b != 0) {
      const std::vector<float> old = Load<float>(out);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += b * old[i];
    }
    Store(out, values);
  });
}

// One slope, one for each channel (the last dimension), or a shape that broadcasts with one inner
// dimension.
void Prelu(void* handle, void* x_descriptor, const void* x, void* alpha_descriptor,
           const void* alpha, void* y_descriptor, void* y) {
  Op op(handle);
  const Tensor x_tensor = op.Describe(x_descriptor, "x"), y_tensor = op.Describe(y_descriptor, "y");
  const Tensor alpha_tensor = op.Describe(alpha_descriptor, "alpha");
  Op::RequireType(x_tensor, kFloats, "x");
  Op::RequireSameType(x_tensor, y_tensor);
  Op::RequireSameType(x_tensor, alpha_tensor);
  Op::RequireSameShape(x_tensor, y_tensor);
  const auto inner = std::count_if(alpha_tensor.dims.begin(), alpha_tensor.dims.end(),
                                   [](std::int64_t dim) { return dim != 1; });
  Op::Require(inner <= 1 && BroadcastShape(x_tensor.dims, alpha_tensor.dims) == x_tensor.dims,
              Text("alpha of shape ", alpha_tensor.DescribeShape(), " for x of shape ",
                   x_tensor.DescribeShape(), ": all dimensions but one are 1"));
  if (IsEmpty(x_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x"), slope = op.Read(alpha_tensor, alpha, "alpha");
  const Operand out = op.Write(y_tensor, y, "y", true);
  op.Enqueue(2.0 * x_tensor.Count(), [=] {
    std::vector<float> values = Load<float>(in);
    const std::vector<float> slopes = Load<float>(Broadcast(slope, in.dims));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0) values[i] *= slopes[i];
    }
    Store(out, values);
  });
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_LIFETIME(Activation, cnnlCreateActivationDescriptor, cnnlDestroyActivationDescriptor)
MLUSIM_CNNL(cnnlSetActivationDescriptor, (void* value, int mode, int nan, float coefficient),
            SetPlain(value, mode, nan, coefficient))
MLUSIM_CNNL(cnnlSetActivationDescriptor_v5,
            (void* value, int mode, int preference, int nan, float coefficient, int, float gamma,
             float scale, bool),
            CheckActivationPreference(preference);
            Set(value, mode, nan, coefficient, gamma, scale, false))
MLUSIM_CNNL(cnnlSetActivationDescriptor_v6,
            (void* value, int mode, int preference, int nan, float coefficient, int, float gamma,
             float scale, bool, bool approximate),
            CheckActivationPreference(preference);
            Set(value, mode, nan, coefficient, gamma, scale, approximate))
MLUSIM_CNNL(cnnlActivationForward,
            (void* handle, void* descriptor, const void* alpha, void* x_descriptor, const void* x,
             const void* beta, void* y_descriptor, void* y),
            Forward(handle, descriptor, alpha, x_descriptor, x, beta, y_descriptor, y))
MLUSIM_CNNL(cnnlPrelu,
            (void* handle, void* x_descriptor, const void* x, void* alpha_descriptor,
             const void* alpha, void* y_descriptor, void* y),
            Prelu(handle, x_descriptor, x, alpha_descriptor, alpha, y_descriptor, y))
