// Integers bit by bit.
#include "enums.h"
#include "export.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

constexpr std::initializer_list<int> kWhole{kInt8, kInt16, kInt32, kUint8};

std::int64_t Apply(Bits bits, std::int64_t a, std::int64_t b) {
  switch (bits) {
    case Bits::kAnd:
      return a & b;
    case Bits::kOr:
      return a | b;
    case Bits::kXor:
      return a ^ b;
    case Bits::kNot:
      return ~a;
  }
  return a;
}

void Query(void* handle, void* a, void* b, void* c, std::size_t* size) {
  const Op op(handle);
  op.Describe(a, "a");
  if (b) op.Describe(b, "b");
  Answer(size, WorkspaceFor(op.Describe(c, "c").Count()));
}

// The second operand is not looked at when bits are turned over. That shapes broadcast is nowhere
// said, so they have to be the same.
void Run(void* handle, int bits_value, void* a_desc, const void* a, void* b_desc, const void* b,
         void* c_desc, void* c, void* workspace, std::size_t bytes) {
  Op op(handle);
  const Bits bits = BitsOf(bits_value);
  const bool two = bits != Bits::kNot;
  const Tensor left = op.Describe(a_desc, "a"), result = op.Describe(c_desc, "c");
  const Tensor right = two ? op.Describe(b_desc, "b") : left;
  Op::RequireType(left, kWhole, "a");
  Op::RequireSameType(left, right);
  Op::RequireSameType(left, result);
  Op::RequireSameShape(left, right);
  Op::RequireSameShape(left, result);
  if (IsEmpty(result)) return;
  const Operand x = op.Read(left, a, "a");
  const Operand y = two ? op.Read(right, b, "b") : x;
  const Operand out = op.Write(result, c, "c", true);
  op.Workspace(workspace, bytes, WorkspaceFor(result.Count()));
  op.Enqueue(1.0 * result.Count(), [=] {
    std::vector<std::int64_t> values = Load<std::int64_t>(x);
    const std::vector<std::int64_t> others = Load<std::int64_t>(y);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = Apply(bits, values[i], others[i]);
    Wrap(out.type, values);
    Store(out, values);
  });
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_CNNL(cnnlGetBitComputeWorkspaceSize,
            (void* handle, void* a, void* b, void* c, std::size_t* size),
            Query(handle, a, b, c, size))
MLUSIM_CNNL(cnnlBitCompute_v2,
            (void* handle, int bits, void* a_desc, const void* a, void* b_desc, const void* b,
             void* c_desc, void* c, void* workspace, std::size_t bytes),
            Run(handle, bits, a_desc, a, b_desc, b, c_desc, c, workspace, bytes))
