#include "op.h"

#include <algorithm>
#include <cstring>

#include "../core/cost.h"
#include "../core/version.h"
#include "export.h"

namespace mlusim::network {
namespace {

constexpr int kBfloat16Since = 5;  // the capability of the first cards that have it

int RankOf(int layout) {
  switch (layout) {
    case NCHW:
    case NHWC:
    case HWCN:
      return 4;
    case NDHWC:
    case NCDHW:
      return 5;
    case TNC:
    case NTC:
    case NLC:
    case NCL:
      return 3;
    case NC:
      return 2;
    default:
      return 0;
  }
}

bool Overlap(const Span& a, const Span& b) {
  return a.block == b.block && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

bool SameMemory(const Span& a, const Span& b) {
  return a.block == b.block && a.offset == b.offset && a.bytes == b.bytes;
}

}  // namespace

std::int64_t Operand::Count() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

Op::Op(void* handle) : lock_(Guard()), library_(LibraryOf(handle)), queue_(QueueFor(*library_)) {}

Tensor Op::Describe(void* descriptor, const char* role) const {
  const std::shared_ptr<Tensor> tensor = Find<Tensor>(descriptor);
  if (!tensor->was_set) {
    throw Misuse("unset-descriptor", Fault::kInvalidArgument,
                 Text(role, ": ", tensor->Describe(), " was never set"));
  }
  if (tensor->type == kBfloat16 && kCapability < kBfloat16Since) {
    throw Failure(Fault::kArchitecture, Text(role, " is bfloat16, which this card has not"));
  }
  const int rank = RankOf(tensor->layout);
  if (rank != 0 && rank != tensor->rank()) {
    Refuse("layout", Fault::kInvalidArgument,
           Text(role, ": a layout of ", rank, " dimensions on a tensor of ", tensor->rank()));
  }
  return *tensor;
}

void Op::Require(bool holds, const std::string& otherwise) {
  if (!holds) throw Misuse("bad-argument", Fault::kInvalidArgument, otherwise);
}

void Op::RequireType(const Tensor& tensor, std::initializer_list<int> types, const char* role) {
  if (std::find(types.begin(), types.end(), tensor.type) != types.end()) return;
  throw Misuse("data-type", Fault::kNotSupported,
               Text(role, " has data type ", tensor.type, ", which this op does not take"));
}

void Op::RequireSameType(const Tensor& a, const Tensor& b) {
  if (a.type == b.type) return;
  throw Misuse("data-type", Fault::kInvalidArgument,
               Text("data types ", a.type, " and ", b.type, " differ"));
}

void Op::RequireSameShape(const Tensor& a, const Tensor& b) {
  Require(a.dims == b.dims,
          Text("shapes ", a.DescribeShape(), " and ", b.DescribeShape(), " differ"));
}

void Op::RequireShape(const Tensor& tensor, const Dims& dims, const char* role) {
  Tensor expected;
  expected.dims = dims;
  Require(tensor.dims == dims,
          Text(role, " has shape ", tensor.DescribeShape(), ", not ", expected.DescribeShape()));
}

int Op::AxisOf(const Tensor& tensor, int axis) {
  const int rank = tensor.rank();
  Require(axis >= -rank && axis < rank,
          Text("axis ", axis, " of a tensor with ", rank, " dimensions"));
  return axis < 0 ? axis + rank : axis;
}

void Op::RequireContiguous(const Tensor& tensor, const char* role) {
  if (tensor.Contiguous()) return;
  throw Misuse("strides", Fault::kNotSupported, Text(role, " has strides; this op takes none"));
}

void Op::RequireLayout(const Tensor& tensor, std::initializer_list<int> layouts, int rank,
                       const char* role) {
  const bool known = std::find(layouts.begin(), layouts.end(), tensor.layout) != layouts.end();
  if (known && tensor.rank() == rank) return;
  if (!known && RankOf(tensor.layout) == rank) {
    // Its elements would be taken for others.
    throw Misuse(
        "layout", Fault::kNotSupported,
        Text(role, " has layout ", tensor.layout, "; this op takes layout ", *layouts.begin()));
  }
  Refuse("layout", Fault::kInvalidArgument,
         Text(role, " has layout ", tensor.layout, " and ", tensor.rank(),
              " dimensions; this op takes layout ", *layouts.begin(), " with ", rank));
  Require(tensor.rank() == rank, Text(role, " has ", tensor.rank(), " dimensions, not ", rank));
}

Operand Op::Use(const Tensor& tensor, const void* pointer, const char* role, bool writes) {
  const Span span = DeviceSpan(pointer, tensor.ExtentBytes(), role);
  uses_.push_back({span, writes, role});
  return {span.data(),     tensor.type,  tensor.dims,  tensor.strides,
          tensor.position, tensor.scale, tensor.offset};
}

Operand Op::Read(const Tensor& tensor, const void* pointer, const char* role) {
  return Use(tensor, pointer, role, false);
}

Operand Op::Write(const Tensor& tensor, void* pointer, const char* role, bool in_place) {
  const Operand operand = Use(tensor, pointer, role, true);
  const ::mlusim::Use& added = uses_.back();
  for (std::size_t index = 0; index + 1 < uses_.size(); ++index) {
    const ::mlusim::Use& other = uses_[index];
    if (!Overlap(added.span, other.span)) continue;
    if (in_place && !other.writes && SameMemory(added.span, other.span)) continue;
    Refuse("overlap", Fault::kInvalidArgument,
           Text(role, " overlaps ", other.role, " in ", added.span.block->Describe()));
  }
  return operand;
}

Operand Op::Update(const Tensor& tensor, void* pointer, const char* role) {
  return Write(tensor, pointer, role);
}

void Op::Workspace(void* pointer, std::size_t bytes, std::size_t needed) {
  if (needed == 0) return;
  if (bytes < needed) {
    throw Misuse("workspace", Fault::kInvalidArgument,
                 Text("the workspace has ", bytes, " bytes, ", needed,
                      " are needed: the size comes from the query that belongs to this op"));
  }
  const Span span = DeviceSpan(pointer, bytes, "the workspace");
  for (const ::mlusim::Use& other : uses_) {
    if (!Overlap(span, other.span)) continue;
    throw Misuse("overlap", Fault::kInvalidArgument,
                 Text("the workspace overlaps ", other.role, " in ", span.block->Describe()));
  }
  workspace_ = span;
  uses_.push_back({span, true, "the workspace"});
}

void Op::Enqueue(double operations, std::function<void()> run) {
  Task task;
  task.call = CallScope::Name();
  double bytes = 0;
  for (const ::mlusim::Use& use : uses_) bytes += static_cast<double>(use.span.bytes);
  task.cost_us = ComputeUs(bytes, operations);
  task.uses = std::move(uses_);
  task.run = [run = std::move(run), scratch = workspace_.data(), size = workspace_.bytes] {
    if (scratch) std::memset(scratch, kPoison, size);
    run();
  };
  queue_->Enqueue(std::move(task));
}

std::size_t WorkspaceFor(std::size_t bytes) { return (bytes + 256) / 128 * 128; }

void Answer(std::size_t* size, std::size_t bytes) { *Needed(size, "the size") = bytes; }

Dims BroadcastShape(const Dims& a, const Dims& b) {
  Dims shape(std::max(a.size(), b.size()));
  for (std::size_t back = 1; back <= shape.size(); ++back) {
    const std::int64_t of_a = back <= a.size() ? a[a.size() - back] : 1;
    const std::int64_t of_b = back <= b.size() ? b[b.size() - back] : 1;
    Op::Require(of_a == of_b || of_a == 1 || of_b == 1,
                Text("dimensions ", of_a, " and ", of_b, " do not broadcast"));
    shape[shape.size() - back] = of_a == 1 ? of_b : of_a;
  }
  return shape;
}

Operand Broadcast(const Operand& operand, const Dims& dims) {
  Operand wide = operand;
  const std::size_t added = dims.size() - operand.dims.size();
  wide.dims = dims;
  wide.strides.assign(dims.size(), 0);
  for (std::size_t axis = 0; axis < operand.dims.size(); ++axis) {
    if (operand.dims[axis] != 1) wide.strides[added + axis] = operand.strides[axis];
  }
  return wide;
}

}  // namespace mlusim::network
