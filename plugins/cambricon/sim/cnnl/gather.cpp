// Gather, casts and running sums.
#include <cstring>

#include "enums.h"
#include "export.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

std::size_t GatherScratch(const Tensor& index) { return WorkspaceFor(index.rank() * 64); }

// out[..., i, ...] = in[..., index[..., i, ...], ...] along `dim`; the output has the shape of the
// index.
void Gather(void* handle, int dim, void* in_desc, const void* in_data, void* index_desc,
            const void* index_data, bool scratch, void* workspace, std::size_t bytes,
            void* out_desc, void* out_data) {
  Op op(handle);
  const Tensor from = op.Describe(in_desc, "the input");
  const Tensor index = op.Describe(index_desc, "the index");
  const Tensor to = op.Describe(out_desc, "the output");
  Op::RequireType(index, {kInt32, kInt64}, "the index");
  Op::RequireSameType(from, to);
  Op::RequireSameShape(index, to);
  Op::Require(from.rank() == index.rank(), "the index has another rank than the input");
  const int axis = Op::AxisOf(from, dim);
  for (int other = 0; other < from.rank(); ++other) {
    Op::Require(other == axis || index.dims[other] <= from.dims[other],
                Text("dimension ", other, " of the index is larger than the input's"));
  }
  if (IsEmpty(to)) return;
  const Operand in = op.Read(from, in_data, "the input");
  const Operand places = op.Read(index, index_data, "the index");
  const Operand out = op.Write(to, out_data, "the output");
  if (scratch) op.Workspace(workspace, bytes, GatherScratch(index));
  op.Enqueue(0, [=] {
    const std::vector<std::int64_t> chosen = Load<std::int64_t>(places);
    const auto size = static_cast<std::int64_t>(BytesOf(in.type));
    Dims at(out.dims.size(), 0);
    for (const std::int64_t place : chosen) {
      if (place < 0 || place >= in.dims[axis]) {
        throw Misuse("index", Fault::kQueueFailed,
                     Text("index ", place, " of a dimension of ", in.dims[axis]));
      }
      std::int64_t source = 0, target = 0;
      for (std::size_t d = 0; d < at.size(); ++d) {
        source += (static_cast<int>(d) == axis ? place : at[d]) * in.strides[d];
        target += at[d] * out.strides[d];
      }
      std::memcpy(out.data + target * size, in.data + source * size, size);
      for (std::size_t d = at.size(); d-- > 0 && ++at[d] == out.dims[d];) at[d] = 0;
    }
  });
}

void QueryGather(void* handle, void* in_desc, void* index_desc, void* out_desc, std::size_t* size) {
  const Op op(handle);
  op.Describe(in_desc, "the input");
  op.Describe(out_desc, "the output");
  Answer(size, GatherScratch(op.Describe(index_desc, "the index")));
}

void CastType(void* handle, void* in_desc, const void* in_data, int cast_value, void* out_desc,
              void* out_data) {
  Op op(handle);
  const Cast cast = CastOf(cast_value);
  const Tensor from = op.Describe(in_desc, "the input"), to = op.Describe(out_desc, "the output");
  Op::Require(from.type == cast.from && to.type == cast.to,
              Text("the cast is from ", cast.from, " to ", cast.to,
                   ", the tensors are of data types ", from.type, " and ", to.type));
  Op::RequireSameShape(from, to);
  if (IsEmpty(from)) return;
  const Operand in = op.Read(from, in_data, "the input");
  const Operand out = op.Write(to, out_data, "the output", BytesOf(from.type) == BytesOf(to.type));
  op.Enqueue(1.0 * from.Count(), [=] {
    WithArithmetic(in.type, [&](auto sample) { Store(out, Load<decltype(sample)>(in)); });
  });
}

void Cumsum(void* handle, void* in_desc, const void* in_data, int dim, bool exclusive, bool reverse,
            void* out_desc, void* out_data) {
  Op op(handle);
  const Tensor from = op.Describe(in_desc, "the input"), to = op.Describe(out_desc, "the output");
  Op::RequireType(from, {kFloat, kHalf, kBfloat16, kInt32, kInt64}, "the input");
  Op::RequireSameType(from, to);
  Op::RequireSameShape(from, to);
  const int axis = Op::AxisOf(from, dim);
  if (IsEmpty(from)) return;
  const Operand in = op.Read(from, in_data, "the input");
  const Operand out = op.Write(to, out_data, "the output", true);
  op.Enqueue(1.0 * from.Count(), [=] {
    const std::int64_t length = in.dims[axis], step = ContiguousStrides(in.dims)[axis];
    WithArithmetic(in.type, [&](auto sample) {
      using T = decltype(sample);
      std::vector<T> values = Load<T>(in);
      const auto count = static_cast<std::int64_t>(values.size());
      for (std::int64_t first = 0; first < count; ++first) {
        if (first / step % length != 0) continue;
        T sum = 0;
        for (std::int64_t n = 0; n < length; ++n) {
          T& value = values[first + (reverse ? length - 1 - n : n) * step];
          const T own = value;
          value = exclusive ? sum : sum + own;
          sum += own;
        }
      }
      Store(out, values);
    });
  });
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_CNNL(cnnlGather,
            (void* handle, int dim, void* in_desc, const void* in, void* index_desc,
             const void* index, void* out_desc, void* out),
            Gather(handle, dim, in_desc, in, index_desc, index, false, nullptr, 0, out_desc, out))
MLUSIM_CNNL(cnnlGather_v2,
            (void* handle, int dim, void* in_desc, const void* in, void* index_desc,
             const void* index, void* workspace, std::size_t bytes, void* out_desc, void* out),
            Gather(handle, dim, in_desc, in, index_desc, index, true, workspace, bytes, out_desc,
                   out))
MLUSIM_CNNL(cnnlGetGatherWorkspaceSize,
            (void* handle, void* in_desc, void* index_desc, void* out_desc, int, std::size_t* size),
            QueryGather(handle, in_desc, index_desc, out_desc, size))
MLUSIM_CNNL(cnnlCastDataType,
            (void* handle, void* in_desc, const void* in, int cast, void* out_desc, void* out),
            CastType(handle, in_desc, in, cast, out_desc, out))
MLUSIM_CNNL(cnnlCumsum,
            (void* handle, void* in_desc, const void* in, int axis, bool exclusive, bool reverse,
             int, void* out_desc, void* out),
            Cumsum(handle, in_desc, in, axis, exclusive, reverse, out_desc, out))
