// Functions of angles and their inverses, chosen by a descriptor.
#include <cmath>

#include "descriptor.h"
#include "enums.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

struct TrigonChoice : Object {
  MLUSIM_OBJECT("trigon descriptor")

  bool was_set = false;
  Trigon mode = Trigon::kSin;
};

void Set(void* value, int mode) {
  With<TrigonChoice>(value, [&](TrigonChoice& trigon) {
    trigon.mode = TrigonOf(mode);
    trigon.was_set = true;
  });
}

float Apply(Trigon mode, float x) {
  switch (mode) {
    case Trigon::kSin:
      return std::sin(x);
    case Trigon::kCos:
      return std::cos(x);
    case Trigon::kTan:
      return std::tan(x);
    case Trigon::kAsin:
      return std::asin(x);
    case Trigon::kAcos:
      return std::acos(x);
    case Trigon::kAtan:
      return std::atan(x);
    case Trigon::kSinh:
      return std::sinh(x);
    case Trigon::kCosh:
      return std::cosh(x);
    case Trigon::kAsinh:
      return std::asinh(x);
    case Trigon::kAcosh:
      return std::acosh(x);
    case Trigon::kAtanh:
      return std::atanh(x);
  }
  return x;
}

void Run(void* handle, void* descriptor, void* x_desc, const void* x, void* y_desc, void* y) {
  Op op(handle);
  const TrigonChoice chosen = SetOf<TrigonChoice>(descriptor);
  const Tensor x_tensor = op.Describe(x_desc, "x"), y_tensor = op.Describe(y_desc, "y");
  Op::RequireType(x_tensor, kFloats, "x");
  Op::RequireSameType(x_tensor, y_tensor);
  Op::RequireSameShape(x_tensor, y_tensor);
  if (IsEmpty(x_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x"), out = op.Write(y_tensor, y, "y", true);
  op.Enqueue(16.0 * x_tensor.Count(), [=] {
    std::vector<float> values = Load<float>(in);
    for (float& value : values) value = Apply(chosen.mode, value);
    Store(out, values);
  });
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_LIFETIME(TrigonChoice, cnnlCreateTrigonDescriptor, cnnlDestroyTrigonDescriptor)
MLUSIM_CNNL(cnnlSetTrigonDescriptor, (void* value, int mode), Set(value, mode))
MLUSIM_CNNL(cnnlSetTrigonDescriptor_v2, (void* value, int mode, int /* preference */),
            Set(value, mode))
MLUSIM_CNNL(cnnlTrigonForward,
            (void* handle, void* descriptor, void* x_desc, const void* x, void* y_desc, void* y),
            Run(handle, descriptor, x_desc, x, y_desc, y))
