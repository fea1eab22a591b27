// Functions of two elements, and sums of several tensors.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "descriptor.h"
#include "enums.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

constexpr std::initializer_list<int> kNumbers{kFloat, kHalf, kBfloat16, kDouble, kInt32, kInt64};

struct OpTensor : Object {
  MLUSIM_OBJECT("op-tensor descriptor")

  bool was_set = false;
  OpTensorKind kind = OpTensorKind::kAdd;
};

// What three descriptors of a broadcasting op need.
std::size_t Scratch(void* handle, void* a, void* b, void* c) {
  const Op op(handle);
  op.Describe(a, "a");
  op.Describe(b, "b");
  return WorkspaceFor(op.Describe(c, "c").Count());
}

void Query(void* handle, void* a, void* b, void* c, std::size_t* size) {
  Answer(size, Scratch(handle, a, b, c));
}

struct Sides {
  Tensor a, b, c;
};

Sides Describe(const Op& op, void* a, void* b, void* c) {
  Sides sides{op.Describe(a, "a"), op.Describe(b, "b"), op.Describe(c, "c")};
  Op::RequireType(sides.a, kNumbers, "a");
  Op::RequireSameType(sides.a, sides.b);
  Op::RequireSameType(sides.a, sides.c);
  Op::RequireShape(sides.c, BroadcastShape(sides.a.dims, sides.b.dims), "the output");
  return sides;
}

template <typename Function>
void Combine(void* handle, void* a_desc, const void* a, void* b_desc, const void* b,
             void* workspace, std::size_t bytes, void* c_desc, void* c, Function function) {
  Op op(handle);
  const Sides sides = Describe(op, a_desc, b_desc, c_desc);
  if (IsEmpty(sides.c)) return;
  const Operand left = op.Read(sides.a, a, "a"), right = op.Read(sides.b, b, "b");
  const Operand out = op.Write(sides.c, c, "c", true);
  op.Workspace(workspace, bytes, WorkspaceFor(sides.c.Count()));
  op.Enqueue(2.0 * sides.c.Count(), [=] {
    WithArithmetic(out.type, [&](auto sample) {
      using T = decltype(sample);
      std::vector<T> values = Load<T>(Broadcast(left, out.dims));
      const std::vector<T> others = Load<T>(Broadcast(right, out.dims));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = function(values[i], others[i]);
      Wrap(out.type, values);
      Store(out, values);
    });
  });
}

// alpha and beta are in host memory: int for integer tensors, else float.
double Factor(const void* pointer, int type, double otherwise) {
  if (!pointer) return otherwise;
  if (type == kInt32 || type == kInt64) return *static_cast<const std::int32_t*>(pointer);
  return *static_cast<const float*>(pointer);
}

void RunOpTensor(void* handle, void* descriptor, const void* alpha1, void* a_desc, const void* a,
                 const void* alpha2, void* b_desc, const void* b, void* workspace,
                 std::size_t bytes, const void* beta, void* c_desc, void* c) {
  Op op(handle);
  const OpTensor chosen = SetOf<OpTensor>(descriptor);
  const Sides sides = Describe(op, a_desc, b_desc, c_desc);
  const double of_a = Factor(alpha1, sides.a.type, 1), of_b = Factor(alpha2, sides.a.type, 1);
  const double of_c = Factor(beta, sides.a.type, 0);
  if (IsEmpty(sides.c)) return;
  const Operand left = op.Read(sides.a, a, "a"), right = op.Read(sides.b, b, "b");
  const Operand out = op.Write(sides.c, c, "c", true);
  op.Workspace(workspace, bytes, WorkspaceFor(sides.c.Count()));
  op.Enqueue(4.0 * sides.c.Count(), [=] {
    WithArithmetic(out.type, [&](auto sample) {
      using T = decltype(sample);
      std::vector<T> values = Load<T>(Broadcast(left, out.dims));
      const std::vector<T> others = Load<T>(Broadcast(right, out.dims));
      const std::vector<T> old = of_c != 0 ? Load<T>(out) : std::vector<T>(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const T x = static_cast<T>(of_a) * values[i], y = static_cast<T>(of_b) * others[i];
        const T z = chosen.kind == OpTensorKind::kAdd   ? x + y
                    : chosen.kind == OpTensorKind::kSub ? x - y
                                                        : x * y;
        values[i] = z + static_cast<T>(of_c) * old[i];
      }
      Wrap(out.type, values);
      Store(out, values);
    });
  });
}

// `scratch`: the form with a workspace also broadcasts.
void AddN(void* handle, void* const* descriptors, const void* const* inputs, std::uint32_t count,
          void* out_desc, void* out_data, bool scratch, void* workspace, std::size_t bytes) {
  Op op(handle);
  Op::Require(count > 0, "nothing to add");
  Needed(descriptors, "the descriptors");
  Needed(inputs, "the inputs");
  const Tensor sum = op.Describe(out_desc, "the output");
  Op::RequireType(sum, kNumbers, "the output");
  std::vector<Tensor> tensors;
  for (std::uint32_t i = 0; i < count; ++i) {
    tensors.push_back(op.Describe(descriptors[i], "an input"));
    Op::RequireSameType(tensors.back(), sum);
    if (!scratch) Op::RequireSameShape(tensors.back(), sum);
    BroadcastShape(tensors.back().dims, sum.dims);
  }
  if (IsEmpty(sum)) return;
  std::vector<Operand> operands;
  for (std::uint32_t i = 0; i < count; ++i) {
    operands.push_back(op.Read(tensors[i], inputs[i], "an input"));
  }
  const Operand out = op.Write(sum, out_data, "the output", true);
  if (scratch) op.Workspace(workspace, bytes, WorkspaceFor(64 * count));
  op.Enqueue(1.0 * count * sum.Count(), [operands, out] {
    WithArithmetic(out.type, [&](auto sample) {
      using T = decltype(sample);
      std::vector<T> total = Load<T>(Broadcast(operands[0], out.dims));
      for (std::size_t n = 1; n < operands.size(); ++n) {
        const std::vector<T> term = Load<T>(Broadcast(operands[n], out.dims));
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += term[i];
      }
      Wrap(out.type, total);
      Store(out, total);
    });
  });
}

void QueryAddN(void* handle, void* const* descriptors, std::uint32_t count, void* out_desc,
               std::size_t* size) {
  const Op op(handle);
  for (std::uint32_t i = 0; i < count; ++i) op.Describe(descriptors[i], "an input");
  op.Describe(out_desc, "the output");
  Answer(size, WorkspaceFor(64 * count));
}

// c = alpha * bias + beta * c, where bias runs along the last dimension.
void BiasAdd(void* handle, const void* alpha, void* bias_desc, const void* bias, void* workspace,
             std::size_t bytes, const void* beta, void* c_desc, void* c) {
  Op op(handle);
  const Tensor bias_tensor = op.Describe(bias_desc, "bias"), tensor = op.Describe(c_desc, "c");
  Op::RequireType(tensor, kFloats, "c");
  Op::RequireSameType(bias_tensor, tensor);
  Op::RequireShape(bias_tensor, {tensor.dims.back()}, "bias");
  const float of_bias = FactorAt(alpha, 1);
  const float of_c = FactorAt(beta, 0);
  if (IsEmpty(tensor)) return;
  const Operand added = op.Read(bias_tensor, bias, "bias");
  const Operand out = op.Update(tensor, c, "c");
  op.Workspace(workspace, bytes, WorkspaceFor(tensor.dims.back() * 4));
  op.Enqueue(2.0 * tensor.Count(), [=] {
    const std::vector<float> biases = Load<float>(added);
    std::vector<float> values = Load<float>(out);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float term = of_bias * biases[i % biases.size()];
      values[i] = of_c == 0 ? term : term + of_c * values[i];
    }
    Store(out, values);
  });
}

void QueryBiasAdd(void* handle, void* bias_desc, void* c_desc, std::size_t* size) {
  const Op op(handle);
  op.Describe(bias_desc, "bias");
  Answer(size, WorkspaceFor(op.Describe(c_desc, "c").dims.back() * 4));
}

template <typename T>
T Divide(T a, T b) {
  if constexpr (std::is_integral_v<T>) return b == 0 ? 0 : a / b;
  return a / b;
}

template <typename T>
T FloorDivide(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
  } else {
    return std::floor(a / b);
  }
}

template <typename T>
T Power(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    T result = 1;
    for (T n = 0; n < b; ++n) result *= a;
    return b < 0 ? (a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0) : result;
  } else {
    return std::pow(a, b);
  }
}

template <typename T>
bool IsNan(T v) {
  return v != v;
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_LIFETIME(OpTensor, cnnlCreateOpTensorDescriptor, cnnlDestroyOpTensorDescriptor)
MLUSIM_CNNL(cnnlSetOpTensorDescriptor, (void* value, int kind, int, int),
            With<OpTensor>(value, [&](OpTensor& chosen) {
              chosen.kind = OpTensorKindOf(kind);
              chosen.was_set = true;
            }))
MLUSIM_CNNL(cnnlGetOpTensorWorkspaceSize,
            (void* handle, void* a, void* b, void* c, std::size_t* size),
            Query(handle, a, b, c, size))
MLUSIM_CNNL(cnnlGetOpTensorWorkspaceSize_v2,
            (void* handle, void*, const void*, void* a, const void*, const void*, void* b,
             const void*, const void*, void* c, const void*, std::size_t* size),
            Query(handle, a, b, c, size))
MLUSIM_CNNL(cnnlOpTensor,
            (void* handle, void* descriptor, const void* alpha1, void* a_desc, const void* a,
             const void* alpha2, void* b_desc, const void* b, void* workspace, std::size_t bytes,
             const void* beta, void* c_desc, void* c),
            RunOpTensor(handle, descriptor, alpha1, a_desc, a, alpha2, b_desc, b, workspace, bytes,
                        beta, c_desc, c))

MLUSIM_CNNL(cnnlAddN,
            (void* handle, void* const* descs, const void* const* inputs, std::uint32_t count,
             void* out_desc, void* out),
            AddN(handle, descs, inputs, count, out_desc, out, false, nullptr, 0))
MLUSIM_CNNL(cnnlAddN_v2,
            (void* handle, void* const* descs, const void* const* inputs, std::uint32_t count,
             void* out_desc, void* out, void* workspace, std::size_t bytes),
            AddN(handle, descs, inputs, count, out_desc, out, true, workspace, bytes))
MLUSIM_CNNL(cnnlGetAddNWorkspaceSize,
            (void* handle, void* const* descs, std::uint32_t count, void* out_desc,
             std::size_t* size),
            QueryAddN(handle, descs, count, out_desc, size))

MLUSIM_CNNL(cnnlGetBiasAddWorkspaceSize,
            (void* handle, void* bias_desc, void* c_desc, std::size_t* size),
            QueryBiasAdd(handle, bias_desc, c_desc, size))
MLUSIM_CNNL(cnnlBiasAdd,
            (void* handle, const void* alpha, void* bias_desc, const void* bias, void* workspace,
             std::size_t bytes, const void* beta, void* c_desc, void* c),
            BiasAdd(handle, alpha, bias_desc, bias, workspace, bytes, beta, c_desc, c))

// The arguments come in two orders: workspace before the output, or behind it.
#define MLUSIM_PARAMETERS_BEFORE                                                                \
  void *a_desc, const void *a, void *b_desc, const void *b, void *workspace, std::size_t bytes, \
      void *c_desc, void *c
#define MLUSIM_PARAMETERS_BEHIND                                                   \
  void *a_desc, const void *a, void *b_desc, const void *b, void *c_desc, void *c, \
      void *workspace, std::size_t bytes
#define MLUSIM_COMBINE(expression)                                   \
  Combine(handle, a_desc, a, b_desc, b, workspace, bytes, c_desc, c, \
          [](auto x, auto y) { return expression; })
#define MLUSIM_QUERY_3(name)                                                      \
  MLUSIM_CNNL(name, (void* handle, void* a, void* b, void* c, std::size_t* size), \
              Query(handle, a, b, c, size))
#define MLUSIM_QUERY_1(name) \
  MLUSIM_CNNL(name, (void* handle, void* c, std::size_t* size), Query(handle, c, c, c, size))

MLUSIM_QUERY_3(cnnlGetDivWorkspaceSize)
MLUSIM_CNNL(cnnlDiv_v2, (void* handle, int, MLUSIM_PARAMETERS_BEFORE), MLUSIM_COMBINE(Divide(x, y)))
MLUSIM_QUERY_3(cnnlGetPowWorkspaceSize)
MLUSIM_CNNL(cnnlPow, (void* handle, int, MLUSIM_PARAMETERS_BEFORE), MLUSIM_COMBINE(Power(x, y)))
MLUSIM_QUERY_1(cnnlGetMaximumWorkspaceSize)
MLUSIM_CNNL(cnnlMaximum, (void* handle, MLUSIM_PARAMETERS_BEHIND),
            MLUSIM_COMBINE(IsNan(x) || x > y ? x : y))
MLUSIM_QUERY_1(cnnlGetMinimumWorkspaceSize)
MLUSIM_CNNL(cnnlMinimum, (void* handle, MLUSIM_PARAMETERS_BEHIND),
            MLUSIM_COMBINE(IsNan(x) || x < y ? x : y))
MLUSIM_QUERY_3(cnnlGetFloorDivWorkspaceSize)
MLUSIM_CNNL(cnnlFloorDiv_v2, (void* handle, int, MLUSIM_PARAMETERS_BEHIND),
            MLUSIM_COMBINE(FloorDivide(x, y)))
MLUSIM_QUERY_3(cnnlGetFloorModWorkspaceSize)
MLUSIM_CNNL(cnnlFloorMod, (void* handle, MLUSIM_PARAMETERS_BEHIND),
            MLUSIM_COMBINE(static_cast<decltype(x)>(x - y * FloorDivide(x, y))))
