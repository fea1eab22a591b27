// Comparisons, choices and bounds.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "enums.h"
#include "export.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

constexpr std::initializer_list<int> kCompared{kFloat, kHalf, kBfloat16, kInt32, kInt64,
                                               kUint8, kBool, kInt8,     kInt16};

template <typename T>
bool Compare(Logic logic, T a, T b) {
  switch (logic) {
    case Logic::kEqual:
      return a == b;
    case Logic::kNotEqual:
      return a != b;
    case Logic::kGreater:
      return a > b;
    case Logic::kGreaterEqual:
      return a >= b;
    case Logic::kLess:
      return a < b;
    case Logic::kLessEqual:
      return a <= b;
    case Logic::kAnd:
      return a != 0 && b != 0;
    case Logic::kOr:
      return a != 0 || b != 0;
    case Logic::kXor:
      return (a != 0) != (b != 0);
    case Logic::kNot:
      return a == 0;
  }
  return false;
}

void QueryLogic(void* handle, void* a, void* b, void* c, std::size_t* size) {
  const Op op(handle);
  op.Describe(a, "a");
  op.Describe(b, "b");
  Answer(size, WorkspaceFor(op.Describe(c, "c").Count()));
}

// The output has the type of the inputs, or bool.
void RunLogic(void* handle, int logic_value, void* a_desc, const void* a, void* b_desc,
              const void* b, void* workspace, std::size_t bytes, void* c_desc, void* c) {
  Op op(handle);
  const Logic logic = LogicOf(logic_value);
  const Tensor a_tensor = op.Describe(a_desc, "a"), b_tensor = op.Describe(b_desc, "b");
  const Tensor c_tensor = op.Describe(c_desc, "c");
  Op::RequireType(a_tensor, kCompared, "a");
  Op::RequireSameType(a_tensor, b_tensor);
  if (c_tensor.type != kBool) Op::RequireSameType(a_tensor, c_tensor);
  Op::RequireShape(c_tensor, BroadcastShape(a_tensor.dims, b_tensor.dims), "c");
  if (IsEmpty(c_tensor)) return;
  const Operand left = op.Read(a_tensor, a, "a"), right = op.Read(b_tensor, b, "b");
  const Operand out = op.Write(c_tensor, c, "c", true);
  op.Workspace(workspace, bytes, WorkspaceFor(c_tensor.Count()));
  op.Enqueue(1.0 * c_tensor.Count(), [=] {
    WithArithmetic(left.type, [&](auto sample) {
      using T = decltype(sample);
      const std::vector<T> x = Load<T>(Broadcast(left, out.dims));
      const std::vector<T> y = Load<T>(Broadcast(right, out.dims));
      std::vector<std::int64_t> answers(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) answers[i] = Compare(logic, x[i], y[i]);
      Store(out, answers);
    });
  });
}

void QuerySelect(void* handle, void* condition, void* then, void* otherwise, std::size_t* size) {
  const Op op(handle);
  op.Describe(condition, "the condition");
  op.Describe(then, "then");
  Answer(size, WorkspaceFor(op.Describe(otherwise, "else").rank() * 64));
}

void Select(void* handle, void* condition_desc, const void* condition, void* then_desc,
            const void* then, void* else_desc, const void* otherwise, void* workspace,
            std::size_t bytes, void* out_desc, void* out_data) {
  Op op(handle);
  const Tensor chooser = op.Describe(condition_desc, "the condition");
  const Tensor yes = op.Describe(then_desc, "then"), no = op.Describe(else_desc, "else");
  const Tensor tensor = op.Describe(out_desc, "the output");
  Op::RequireType(chooser, {kBool, kUint8, kInt8}, "the condition");
  Op::RequireSameType(yes, no);
  Op::RequireSameType(yes, tensor);
  Op::RequireShape(tensor, BroadcastShape(chooser.dims, BroadcastShape(yes.dims, no.dims)),
                   "the output");
  if (IsEmpty(tensor)) return;
  const Operand which = op.Read(chooser, condition, "the condition");
  const Operand left = op.Read(yes, then, "then"), right = op.Read(no, otherwise, "else");
  const Operand out = op.Write(tensor, out_data, "the output", true);
  op.Workspace(workspace, bytes, WorkspaceFor(no.rank() * 64));
  op.Enqueue(1.0 * tensor.Count(), [=] {
    const auto choices = Load<std::int64_t>(Broadcast(which, out.dims));
    const auto size = static_cast<std::int64_t>(BytesOf(out.type));
    std::vector<unsigned char> values = BytesOfElements(Broadcast(left, out.dims));
    const std::vector<unsigned char> others = BytesOfElements(Broadcast(right, out.dims));
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (choices[i] == 0) std::memcpy(values.data() + i * size, others.data() + i * size, size);
    }
    StoreBytes(out, values);
  });
}

void IsNan(void* handle, void* x_desc, const void* x, void* y_desc, void* y) {
  Op op(handle);
  const Tensor x_tensor = op.Describe(x_desc, "x"), y_tensor = op.Describe(y_desc, "y");
  Op::RequireType(x_tensor, kFloats, "x");
  Op::RequireType(y_tensor, {kBool}, "y");
  Op::RequireSameShape(x_tensor, y_tensor);
  if (IsEmpty(x_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x"), out = op.Write(y_tensor, y, "y");
  op.Enqueue(1.0 * x_tensor.Count(), [=] {
    const std::vector<float> values = Load<float>(in);
    std::vector<std::int64_t> answers(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) answers[i] = std::isnan(values[i]);
    Store(out, answers);
  });
}

// One value of the tensor's type, in host memory.
double HostValue(const void* pointer, int type) {
  Operand one;
  one.data = static_cast<unsigned char*>(const_cast<void*>(pointer));
  one.type = type;
  one.dims = one.strides = {1};
  return Load<double>(one)[0];
}

// A bound that is NULL is none.
void Clip(void* handle, int pointer_mode, void* x_desc, const void* x, const void* low,
          const void* high, void* y_desc, void* y) {
  Op op(handle);
  const Tensor x_tensor = op.Describe(x_desc, "x"), y_tensor = op.Describe(y_desc, "y");
  Op::RequireType(x_tensor, {kFloat, kHalf, kBfloat16, kInt32}, "x");
  Op::RequireSameType(x_tensor, y_tensor);
  Op::RequireSameShape(x_tensor, y_tensor);
  if (pointer_mode != 0) throw Failure(Fault::kNotSupported, "bounds in memory of the card");
  const double from = low ? HostValue(low, x_tensor.type) : -HUGE_VAL;
  const double to = high ? HostValue(high, x_tensor.type) : HUGE_VAL;
  if (IsEmpty(x_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x"), out = op.Write(y_tensor, y, "y", true);
  op.Enqueue(2.0 * x_tensor.Count(), [=] {
    std::vector<double> values = Load<double>(in);
    for (double& v : values) {
      if (v < from) v = from;
      if (v > to) v = to;
    }
    Store(out, values);
  });
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_CNNL(cnnlGetLogicOpWorkspaceSize,
            (void* handle, void* a, void* b, void* c, std::size_t* size),
            QueryLogic(handle, a, b, c, size))
MLUSIM_CNNL(cnnlLogicOp,
            (void* handle, int logic, void* a_desc, const void* a, void* b_desc, const void* b,
             void* workspace, std::size_t bytes, void* c_desc, void* c),
            RunLogic(handle, logic, a_desc, a, b_desc, b, workspace, bytes, c_desc, c))
MLUSIM_CNNL(cnnlGetSelectV2WorkspaceSize,
            (void* handle, void* condition, void* then, void* otherwise, std::size_t* size),
            QuerySelect(handle, condition, then, otherwise, size))
MLUSIM_CNNL(cnnlSelectV2,
            (void* handle, void* condition_desc, const void* condition, void* then_desc,
             const void* then, void* else_desc, const void* otherwise, void* workspace,
             std::size_t bytes, void* out_desc, void* out),
            Select(handle, condition_desc, condition, then_desc, then, else_desc, otherwise,
                   workspace, bytes, out_desc, out))
MLUSIM_CNNL(cnnlIsNan, (void* handle, void* x_desc, const void* x, void* y_desc, void* y),
            IsNan(handle, x_desc, x, y_desc, y))
MLUSIM_CNNL(cnnlClip_v2,
            (void* handle, int pointer_mode, void* x_desc, const void* x, const void* low,
             const void* high, void* y_desc, void* y),
            Clip(handle, pointer_mode, x_desc, x, low, high, y_desc, y))
