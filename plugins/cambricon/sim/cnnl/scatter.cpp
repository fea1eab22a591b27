// Elements put where indices say.
#include <cmath>
#include <cstring>

#include "enums.h"
#include "export.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

constexpr std::initializer_list<int> kCombined{kFloat, kHalf, kBfloat16, kInt32};

std::size_t Scratch(const Tensor& index) { return WorkspaceFor(index.rank() * 64); }

template <typename T>
T Combine(ScatterMode mode, T old, T update) {
  switch (mode) {
    case ScatterMode::kAdd:
      return old + update;
    case ScatterMode::kMax:
      return update > old || update != update ? update : old;
    case ScatterMode::kMin:
      return update < old || update != update ? update : old;
    default:
      return update;
  }
}

// The place in the output, in elements, of each update in row-major order.
std::vector<std::int64_t> Places(const Operand& index, const Operand& out, int axis) {
  std::vector<std::int64_t> places = Load<std::int64_t>(index);
  const Dims strides = ContiguousStrides(out.dims);
  Dims at(out.dims.size(), 0);
  for (std::int64_t& place : places) {
    if (place < 0 || place >= out.dims[axis]) {
      throw Misuse("index", Fault::kQueueFailed,
                   Text("index ", place, " of a dimension of ", out.dims[axis]));
    }
    place *= strides[axis];
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (static_cast<int>(d) != axis) place += at[d] * strides[d];
    }
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == index.dims[d];) at[d] = 0;
  }
  return places;
}

// Bytes, whatever they mean.
void Replace(const Operand& out, const Operand& updates, const std::vector<std::int64_t>& places) {
  const auto size = static_cast<std::int64_t>(BytesOf(out.type));
  const std::vector<unsigned char> bytes = BytesOfElements(updates);
  for (std::size_t n = 0; n < places.size(); ++n) {
    std::memcpy(out.data + places[n] * size, bytes.data() + n * size, size);
  }
}

// out = in, but for out[..., index[..., i, ...], ...], which `updates[..., i, ...]` joins along
// `dim`. Updates are taken one after another; in which order a card takes them is not said.
void Scatter(void* handle, int dim, void* in_desc, const void* in_data, void* index_desc,
             const void* index_data, void* updates_desc, const void* updates_data, bool scratch,
             void* workspace, std::size_t bytes, void* out_desc, void* out_data, int mode_value) {
  Op op(handle);
  const ScatterMode mode = ScatterModeOf(mode_value);
  const Tensor from = op.Describe(in_desc, "the input"), to = op.Describe(out_desc, "the output");
  const Tensor index = op.Describe(index_desc, "the index");
  const Tensor updates = op.Describe(updates_desc, "the updates");
  if (mode != ScatterMode::kReplace) Op::RequireType(from, kCombined, "the input");
  Op::RequireType(index, {kInt32, kInt64}, "the index");
  Op::RequireSameType(from, to);
  Op::RequireSameType(from, updates);
  Op::RequireSameShape(from, to);
  Op::RequireSameShape(index, updates);
  Op::RequireContiguous(to, "the output");
  Op::Require(from.rank() == index.rank(), "the index has another rank than the input");
  const int axis = Op::AxisOf(from, dim);
  for (int other = 0; other < from.rank(); ++other) {
    Op::Require(other == axis || index.dims[other] <= from.dims[other],
                Text("dimension ", other, " of the index is larger than the input's"));
  }
  if (IsEmpty(to) || IsEmpty(index)) return;
  const Operand in = op.Read(from, in_data, "the input");
  const Operand where = op.Read(index, index_data, "the index");
  const Operand what = op.Read(updates, updates_data, "the updates");
  const Operand out = op.Write(to, out_data, "the output", true);
  if (scratch) op.Workspace(workspace, bytes, Scratch(index));
  op.Enqueue(1.0 * index.Count(), [=] {
    CopyElements(in, out);
    const std::vector<std::int64_t> places = Places(where, out, axis);
    if (mode == ScatterMode::kReplace) {
      Replace(out, what, places);
      return;
    }
    WithArithmetic(out.type, [&](auto sample) {
      using T = decltype(sample);
      std::vector<T> values = Load<T>(out);
      const std::vector<T> news = Load<T>(what);
      for (std::size_t n = 0; n < places.size(); ++n) {
        values[places[n]] = Combine(mode, values[places[n]], news[n]);
      }
      Wrap(out.type, values);
      Store(out, values);
    });
  });
}

void Query(void* handle, void* index_desc, std::size_t* size) {
  const Op op(handle);
  Answer(size, Scratch(op.Describe(index_desc, "the index")));
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_CNNL(cnnlGetScatterWorkspaceSize, (void* handle, void* index_desc, std::size_t* size),
            Query(handle, index_desc, size))
MLUSIM_CNNL(cnnlScatter,
            (void* handle, int dim, void* in_desc, const void* in, void* index_desc,
             const void* index, void* updates_desc, const void* updates, void* out_desc, void* out,
             int mode),
            Scatter(handle, dim, in_desc, in, index_desc, index, updates_desc, updates, false,
                    nullptr, 0, out_desc, out, mode))
MLUSIM_CNNL(cnnlScatter_v2,
            (void* handle, int dim, void* in_desc, const void* in, void* index_desc,
             const void* index, void* updates_desc, const void* updates, void* workspace,
             std::size_t bytes, void* out_desc, void* out, int mode),
            Scatter(handle, dim, in_desc, in, index_desc, index, updates_desc, updates, true,
                    workspace, bytes, out_desc, out, mode))
