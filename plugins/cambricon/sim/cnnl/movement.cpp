// Ops that put elements elsewhere and change none.
#include <algorithm>
#include <cstring>

#include "descriptor.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

struct Transposition : Object {
  MLUSIM_OBJECT("transpose descriptor")

  bool was_set = false;
  std::vector<int> order;
};

void SetOrder(void* value, int count, const int* order) {
  Needed(order, "the order");
  With<Transposition>(value, [&](Transposition& chosen) {
    Op::Require(count >= 1 && count <= kMaxRank, Text("a transpose of ", count, " dimensions"));
    std::vector<bool> seen(count);
    for (int axis = 0; axis < count; ++axis) {
      Op::Require(order[axis] >= 0 && order[axis] < count && !seen[order[axis]],
                  Text("place ", axis, " of the order is ", order[axis]));
      seen[order[axis]] = true;
    }
    chosen.order.assign(order, order + count);
    chosen.was_set = true;
  });
}

// Two dimensions are swapped without scratch memory, as a card may do.
std::size_t TransposeScratch(const Tensor& tensor) {
  return tensor.rank() <= 2 ? 0 : WorkspaceFor(tensor.rank() * 64);
}

void Transpose(void* handle, void* descriptor, void* x_desc, const void* x, void* y_desc, void* y,
               bool scratch, void* workspace, std::size_t bytes) {
  Op op(handle);
  const std::vector<int> order = SetOf<Transposition>(descriptor).order;
  const Tensor x_tensor = op.Describe(x_desc, "x"), y_tensor = op.Describe(y_desc, "y");
  Op::RequireSameType(x_tensor, y_tensor);
  Op::Require(static_cast<int>(order.size()) == x_tensor.rank(),
              Text("the order has ", order.size(), " places, x ", x_tensor.rank(), " dimensions"));
  Dims dims, strides;
  for (const int axis : order) {
    dims.push_back(x_tensor.dims[axis]);
    strides.push_back(x_tensor.strides[axis]);
  }
  Op::RequireShape(y_tensor, dims, "y");
  if (IsEmpty(x_tensor)) return;
  Operand in = op.Read(x_tensor, x, "x");
  in.dims = dims;
  in.strides = strides;
  const Operand out = op.Write(y_tensor, y, "y");
  if (scratch) op.Workspace(workspace, bytes, TransposeScratch(x_tensor));
  op.Enqueue(0, [in, out] { CopyElements(in, out); });
}

void QueryTranspose(void* handle, void* x_desc, void* descriptor, std::size_t* size) {
  const Op op(handle);
  SetOf<Transposition>(descriptor);
  Answer(size, TransposeScratch(op.Describe(x_desc, "x")));
}

std::size_t CopyScratch(const Tensor& from, const Tensor& to) {
  return from.Contiguous() && to.Contiguous() ? 0 : WorkspaceFor(from.rank() * 64);
}

void Copy(void* handle, void* in_desc, const void* in_data, void* out_desc, void* out_data,
          bool scratch, void* workspace, std::size_t bytes) {
  Op op(handle);
  const Tensor from = op.Describe(in_desc, "the input"), to = op.Describe(out_desc, "the output");
  Op::RequireSameType(from, to);
  Op::RequireSameShape(from, to);
  if (IsEmpty(from)) return;
  const Operand in = op.Read(from, in_data, "the input");
  const Operand out = op.Write(to, out_data, "the output");
  if (scratch) op.Workspace(workspace, bytes, CopyScratch(from, to));
  op.Enqueue(0, [in, out] { CopyElements(in, out); });
}

void QueryCopy(void* handle, void* in_desc, void* out_desc, std::size_t* size) {
  const Op op(handle);
  Answer(size, CopyScratch(op.Describe(in_desc, "the input"), op.Describe(out_desc, "the output")));
}

// Each dimension of the output is a multiple of the input's: repeated as a whole, so many times.
void Repeat(void* handle, void* in_desc, const void* in_data, void* out_desc, void* out_data) {
  Op op(handle);
  const Tensor from = op.Describe(in_desc, "the input"), to = op.Describe(out_desc, "the output");
  Op::RequireSameType(from, to);
  Op::Require(from.rank() <= to.rank(), "the output has fewer dimensions than the input");
  // Seen with two dimensions for each one of the output: how often, and what.
  Dims dims, strides;
  const int added = to.rank() - from.rank();
  for (int axis = 0; axis < to.rank(); ++axis) {
    const std::int64_t dim = axis < added ? 1 : from.dims[axis - added];
    Op::Require(dim == 0 ? to.dims[axis] == 0 : to.dims[axis] % dim == 0,
                Text("dimension ", axis, " of the output, ", to.dims[axis],
                     ", is no multiple of the input's, ", dim));
    dims.insert(dims.end(), {dim == 0 ? 0 : to.dims[axis] / dim, dim});
    strides.insert(strides.end(), {0, axis < added ? 0 : from.strides[axis - added]});
  }
  if (IsEmpty(to)) return;
  Operand in = op.Read(from, in_data, "the input");
  in.dims = dims;
  in.strides = strides;
  const Operand out = op.Write(to, out_data, "the output");
  op.Enqueue(0, [in, out] { CopyElements(in, out); });
}

template <typename Number>
void Slice(void* handle, void* in_desc, const void* in_data, const Number* begin, const Number* end,
           const Number* step, void* out_desc, void* out_data) {
  Op op(handle);
  const Tensor from = op.Describe(in_desc, "the input"), to = op.Describe(out_desc, "the output");
  Op::RequireSameType(from, to);
  Needed(begin, "begin");
  Needed(end, "end");
  Needed(step, "the strides");
  Dims dims(from.rank()), strides(from.rank());
  std::int64_t start = 0;
  for (int axis = 0; axis < from.rank(); ++axis) {
    const std::int64_t dim = from.dims[axis], by = step[axis];
    Op::Require(by != 0, Text("the stride of dimension ", axis, " is 0"));
    const auto bound = [&](std::int64_t value) {
      return std::clamp<std::int64_t>(value < 0 ? value + dim : value, by < 0 ? -1 : 0,
                                      by < 0 ? dim - 1 : dim);
    };
    const std::int64_t first = bound(begin[axis]);
    // Before the first element there is no other way to say "to the end" going down.
    const std::int64_t last = by < 0 && end[axis] < -dim ? -1 : bound(end[axis]);
    dims[axis] = std::max<std::int64_t>(
        0, by > 0 ? (last - first + by - 1) / by : (first - last - by - 1) / -by);
    strides[axis] = from.strides[axis] * by;
    start += first * from.strides[axis];
  }
  Op::RequireShape(to, dims, "the output");
  if (IsEmpty(to)) return;
  Operand in = op.Read(from, in_data, "the input");
  in.data += start * static_cast<std::int64_t>(BytesOf(from.type));
  in.dims = dims;
  in.strides = strides;
  const Operand out = op.Write(to, out_data, "the output");
  op.Enqueue(0, [in, out] { CopyElements(in, out); });
}

void Pad(void* handle, void* in_desc, const void* in_data, const void* paddings, const void* value,
         void* out_desc, void* out_data) {
  Op op(handle);
  const Tensor from = op.Describe(in_desc, "the input"), to = op.Describe(out_desc, "the output");
  Op::RequireSameType(from, to);
  const int* pads = static_cast<const int*>(Needed(paddings, "the paddings"));
  Needed(value, "the padding value");
  Dims dims = from.dims;
  std::int64_t start = 0;
  for (int axis = 0; axis < from.rank(); ++axis) {
    Op::Require(pads[2 * axis] >= 0 && pads[2 * axis + 1] >= 0,
                Text("a padding of dimension ", axis, " is negative"));
    dims[axis] += pads[2 * axis] + pads[2 * axis + 1];
  }
  Op::RequireShape(to, dims, "the output");
  for (int axis = 0; axis < from.rank(); ++axis) start += pads[2 * axis] * to.strides[axis];
  if (IsEmpty(to)) return;
  const std::size_t size = BytesOf(from.type);
  const std::vector<unsigned char> element(static_cast<const unsigned char*>(value),
                                           static_cast<const unsigned char*>(value) + size);
  Operand in;
  if (!IsEmpty(from)) in = op.Read(from, in_data, "the input");
  const Operand out = op.Write(to, out_data, "the output");
  op.Enqueue(0, [=] {
    Operand one = out;
    std::vector<unsigned char> bytes = element;
    one.data = bytes.data();
    one.strides.assign(out.dims.size(), 0);
    CopyElements(one, out);
    if (!in.data) return;
    Operand inner = out;
    inner.data += start * static_cast<std::int64_t>(size);
    inner.dims = in.dims;
    CopyElements(in, inner);
  });
}

// One element, taken when the function is called if it is in host memory.
void FillFrom(void* handle, const std::vector<unsigned char>& element, void* out_desc,
              void* out_data) {
  Op op(handle);
  const Tensor to = op.Describe(out_desc, "the output");
  if (IsEmpty(to)) return;
  const Operand out = op.Write(to, out_data, "the output");
  op.Enqueue(0, [out, element] {
    Operand one = out;
    std::vector<unsigned char> bytes = element;
    one.data = bytes.data();
    one.strides.assign(out.dims.size(), 0);
    CopyElements(one, out);
  });
}

int TypeOf(void* handle, void* desc) { return Op(handle).Describe(desc, "the output").type; }

void FillNumber(void* handle, float value, void* out_desc, void* out_data) {
  const int type = TypeOf(handle, out_desc);
  std::vector<unsigned char> element(BytesOf(type));
  Operand one;
  one.data = element.data();
  one.type = type;
  one.dims = one.strides = {1};
  Store(one, std::vector<float>{value});
  FillFrom(handle, element, out_desc, out_data);
}

std::vector<unsigned char> HostElement(const void* value, int type) {
  const auto* bytes = static_cast<const unsigned char*>(Needed(value, "the value"));
  return {bytes, bytes + BytesOf(type)};
}

void FillFromCard(void* handle, void* value_desc, const void* value, void* out_desc,
                  void* out_data) {
  Op op(handle);
  const Tensor one = op.Describe(value_desc, "the value");
  const Tensor to = op.Describe(out_desc, "the output");
  Op::RequireSameType(one, to);
  Op::Require(one.Count() == 1, "the value is one element");
  if (IsEmpty(to)) return;
  const Operand in = op.Read(one, value, "the value");
  const Operand out = op.Write(to, out_data, "the output");
  op.Enqueue(0, [in, out] { CopyElements(Broadcast(in, out.dims), out); });
}

// The descriptor of the value says where it is.
void FillV4(void* handle, void* value_desc, const void* value, void* out_desc, void* out_data) {
  const Tensor one = Op(handle).Describe(value_desc, "the value");
  if (one.pointer_mode != 0) {
    FillFromCard(handle, value_desc, value, out_desc, out_data);
  } else {
    Op::Require(one.type == TypeOf(handle, out_desc), "the value has another data type");
    FillFrom(handle, HostElement(value, one.type), out_desc, out_data);
  }
}

void FillV3(void* handle, int mode, const void* value, void* out_desc, void* out_data) {
  if (mode != 0) throw Failure(Fault::kNotSupported, "a value in memory of the card");
  FillFrom(handle, HostElement(value, TypeOf(handle, out_desc)), out_desc, out_data);
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_LIFETIME(Transposition, cnnlCreateTransposeDescriptor, cnnlDestroyTransposeDescriptor)
MLUSIM_CNNL(cnnlSetTransposeDescriptor, (void* value, int count, const int* order),
            SetOrder(value, count, order))
MLUSIM_CNNL(cnnlGetTransposeWorkspaceSize,
            (void* handle, void* x_desc, void* descriptor, std::size_t* size),
            QueryTranspose(handle, x_desc, descriptor, size))
MLUSIM_CNNL(cnnlTranspose,
            (void* handle, void* descriptor, void* x_desc, const void* x, void* y_desc, void* y),
            Transpose(handle, descriptor, x_desc, x, y_desc, y, false, nullptr, 0))
MLUSIM_CNNL(cnnlTranspose_v2,
            (void* handle, void* descriptor, void* x_desc, const void* x, void* y_desc, void* y,
             void* workspace, std::size_t bytes),
            Transpose(handle, descriptor, x_desc, x, y_desc, y, true, workspace, bytes))

MLUSIM_CNNL(cnnlCopy, (void* handle, void* in_desc, const void* in, void* out_desc, void* out),
            Copy(handle, in_desc, in, out_desc, out, false, nullptr, 0))
MLUSIM_CNNL(cnnlCopy_v2,
            (void* handle, void* in_desc, const void* in, void* out_desc, void* out,
             void* workspace, std::size_t bytes),
            Copy(handle, in_desc, in, out_desc, out, true, workspace, bytes))
MLUSIM_CNNL(cnnlGetCopyWorkspaceSize,
            (void* handle, void* in_desc, void* out_desc, std::size_t* size),
            QueryCopy(handle, in_desc, out_desc, size))
MLUSIM_CNNL(cnnlExpand, (void* handle, void* in_desc, const void* in, void* out_desc, void* out),
            Repeat(handle, in_desc, in, out_desc, out))
MLUSIM_CNNL(cnnlTile, (void* handle, void* in_desc, const void* in, void* out_desc, void* out),
            Repeat(handle, in_desc, in, out_desc, out))
MLUSIM_CNNL(cnnlStridedSlice,
            (void* handle, void* in_desc, const void* in, const int* begin, const int* end,
             const int* step, void* out_desc, void* out),
            Slice(handle, in_desc, in, begin, end, step, out_desc, out))
MLUSIM_CNNL(cnnlStridedSlice_v2,
            (void* handle, void* in_desc, const void* in, const std::int64_t* begin,
             const std::int64_t* end, const std::int64_t* step, void* out_desc, void* out),
            Slice(handle, in_desc, in, begin, end, step, out_desc, out))
MLUSIM_CNNL(cnnlPad,
            (void* handle, void* in_desc, const void* in, const void* paddings, const void* value,
             void* out_desc, void* out),
            Pad(handle, in_desc, in, paddings, value, out_desc, out))

MLUSIM_CNNL(cnnlFill, (void* handle, float value, void* out_desc, void* out),
            FillNumber(handle, value, out_desc, out))
MLUSIM_CNNL(cnnlFill_v3, (void* handle, int mode, const void* value, void* out_desc, void* out),
            FillV3(handle, mode, value, out_desc, out))
MLUSIM_CNNL(cnnlFill_v4,
            (void* handle, void* value_desc, const void* value, void* out_desc, void* out),
            FillV4(handle, value_desc, value, out_desc, out))
