// Concat and split: the same pieces of one tensor, in both directions.
#include "export.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

struct Pieces {
  int axis = 0;
  std::vector<Tensor> tensors;
};

Pieces Describe(const Op& op, int count, int axis, void* const* descs, const Tensor& whole) {
  Op::Require(count > 0, "there is no piece");
  Pieces pieces;
  pieces.axis = Op::AxisOf(whole, axis);
  Needed(descs, "the descriptors");
  std::int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const Tensor piece = op.Describe(descs[i], "a piece");
    Op::RequireSameType(piece, whole);
    Op::Require(piece.rank() == whole.rank(), "the pieces have another rank");
    Dims expected = whole.dims;
    expected[pieces.axis] = piece.dims[pieces.axis];
    Op::RequireShape(piece, expected, "a piece");
    sum += piece.dims[pieces.axis];
    pieces.tensors.push_back(piece);
  }
  Op::Require(sum == whole.dims[pieces.axis], Text("the pieces have ", sum, " along axis ", axis,
                                                   ", the whole ", whole.dims[pieces.axis]));
  return pieces;
}

std::size_t Scratch(int count) { return WorkspaceFor(16 * static_cast<std::size_t>(count)); }

void Query(void* handle, int count, std::size_t* size) {
  const Op op(handle);
  Op::Require(count > 0, "there is no piece");
  Answer(size, Scratch(count));
}

// The part of the whole in which a piece lies.
Operand Part(const Operand& whole, const Operand& piece, int axis, std::int64_t start) {
  Operand part = whole;
  part.dims = piece.dims;
  part.data += start * whole.strides[axis] * static_cast<std::int64_t>(BytesOf(whole.type));
  return part;
}

void Concat(void* handle, int count, int axis, void* const* descs, const void* const* inputs,
            void* workspace, std::size_t bytes, void* out_desc, void* out_data) {
  Op op(handle);
  const Tensor whole = op.Describe(out_desc, "the output");
  const Pieces pieces = Describe(op, count, axis, descs, whole);
  if (IsEmpty(whole)) return;
  Needed(inputs, "the inputs");
  std::vector<Operand> operands;
  for (int i = 0; i < count; ++i) {
    if (IsEmpty(pieces.tensors[i])) continue;
    operands.push_back(op.Read(pieces.tensors[i], inputs[i], "an input"));
  }
  const Operand out = op.Write(whole, out_data, "the output");
  op.Workspace(workspace, bytes, Scratch(count));
  op.Enqueue(0, [operands, out, axis = pieces.axis] {
    std::int64_t start = 0;
    for (const Operand& operand : operands) {
      CopyElements(operand, Part(out, operand, axis, start));
      start += operand.dims[axis];
    }
  });
}

void Split(void* handle, int count, int axis, void* in_desc, const void* in_data, void* workspace,
           std::size_t bytes, void* const* descs, void* const* outputs) {
  Op op(handle);
  const Tensor whole = op.Describe(in_desc, "the input");
  const Pieces pieces = Describe(op, count, axis, descs, whole);
  if (IsEmpty(whole)) return;
  Needed(outputs, "the outputs");
  const Operand in = op.Read(whole, in_data, "the input");
  std::vector<Operand> operands;
  for (int i = 0; i < count; ++i) {
    if (IsEmpty(pieces.tensors[i])) continue;
    operands.push_back(op.Write(pieces.tensors[i], outputs[i], "an output"));
  }
  op.Workspace(workspace, bytes, Scratch(count));
  op.Enqueue(0, [operands, in, axis = pieces.axis] {
    std::int64_t start = 0;
    for (const Operand& operand : operands) {
      CopyElements(Part(in, operand, axis, start), operand);
      start += operand.dims[axis];
    }
  });
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_CNNL(cnnlGetConcatWorkspaceSize, (void* handle, int count, std::size_t* size),
            Query(handle, count, size))
MLUSIM_CNNL(cnnlConcat,
            (void* handle, int count, int axis, void* const* descs, const void* const* inputs,
             void* workspace, std::size_t bytes, void* out_desc, void* out),
            Concat(handle, count, axis, descs, inputs, workspace, bytes, out_desc, out))
MLUSIM_CNNL(cnnlGetSplitWorkspaceSize, (void* handle, int count, std::size_t* size),
            Query(handle, count, size))
MLUSIM_CNNL(cnnlSplit,
            (void* handle, int count, int axis, void* in_desc, const void* in, void* workspace,
             std::size_t bytes, void* const* descs, void* const* outputs),
            Split(handle, count, axis, in_desc, in, workspace, bytes, descs, outputs))
