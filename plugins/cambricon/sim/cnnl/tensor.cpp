#include "tensor.h"

#include <climits>

#include "descriptor.h"

namespace mlusim::network {

Dims ContiguousStrides(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t step = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = step;
    step *= dims[axis];
  }
  return strides;
}

Tensor VectorOf(int type, std::int64_t count) {
  Tensor vector;
  vector.type = type;
  vector.dims = {count};
  vector.strides = {1};
  return vector;
}

std::int64_t Tensor::Count() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return dims.empty() ? 0 : count;
}

std::size_t Tensor::ExtentBytes() const {
  if (Count() == 0) return 0;
  std::int64_t last = 0;
  for (int axis = 0; axis < rank(); ++axis) last += (dims[axis] - 1) * strides[axis];
  return static_cast<std::size_t>(last + 1) * BytesOf(type);
}

bool Tensor::Contiguous() const {
  const Dims dense = ContiguousStrides(dims);
  for (int axis = 0; axis < rank(); ++axis) {
    if (dims[axis] > 1 && strides[axis] != dense[axis]) return false;
  }
  return true;
}

std::string Tensor::DescribeShape() const {
  std::string text = "(";
  for (int axis = 0; axis < rank(); ++axis) text += (axis ? "," : "") + std::to_string(dims[axis]);
  return text + ")";
}

namespace {

template <typename Number>
void Set(void* value, int layout, int type, int rank, const Number* dims, const Number* strides) {
  const Lock lock = Guard();
  const std::shared_ptr<Tensor> tensor = Find<Tensor>(value);
  if (layout < 0 || layout >= kLayouts || BytesOf(type) == 0) {
    throw Misuse("bad-argument", Fault::kInvalidArgument,
                 Text("layout ", layout, " with data type ", type, " is not known"));
  }
  if (rank < 1 || rank > kMaxRank) {
    throw Misuse("bad-argument", Fault::kInvalidArgument,
                 Text("a tensor has 1 to ", kMaxRank, " dimensions, not ", rank));
  }
  Needed(dims, "the dimensions");
  double count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    if (dims[axis] < 0) {
      throw Misuse("bad-argument", Fault::kInvalidArgument,
                   Text("dimension ", axis, " is ", dims[axis]));
    }
    count *= static_cast<double>(dims[axis]);
  }
  if (sizeof(Number) == 4 && count > INT_MAX) {
    throw Misuse("bad-argument", Fault::kInvalidArgument,
                 "the tensor has more than 2^31-1 elements");
  }
  if (tensor->was_set) {
    Complain("leak", Fault::kInvalidArgument,
             Text(tensor->Describe(), " is set a second time without cnnlResetTensorDescriptor, ",
                  "which leaks in the library"));
  }
  tensor->layout = layout;
  tensor->type = type;
  tensor->dims.assign(dims, dims + rank);
  tensor->strides = strides ? Dims(strides, strides + rank) : ContiguousStrides(tensor->dims);
  tensor->was_set = true;
}

void Get(void* value, int* layout, int* type, int* rank, int* dims, int* strides) {
  const Lock lock = Guard();
  const std::shared_ptr<Tensor> tensor = Find<Tensor>(value);
  if (layout) *layout = tensor->layout;
  if (type) *type = tensor->type;
  if (rank) *rank = tensor->rank();
  for (int axis = 0; axis < tensor->rank(); ++axis) {
    if (dims) dims[axis] = static_cast<int>(tensor->dims[axis]);
    if (strides) strides[axis] = static_cast<int>(tensor->strides[axis]);
  }
}

void Reset(void* value) {
  With<Tensor>(value, [](Tensor& tensor) { static_cast<Description&>(tensor) = Description(); });
}

void Quantize(void* value, int position, float scale, int offset) {
  const Lock lock = Guard();
  const std::shared_ptr<Tensor> tensor = Find<Tensor>(value);
  if (!(scale > 0)) {
    throw Misuse("bad-argument", Fault::kInvalidArgument, Text("the scale is ", scale));
  }
  tensor->position = position;
  tensor->scale = scale;
  tensor->offset = offset;
  tensor->quantized = true;
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_LIFETIME(Tensor, cnnlCreateTensorDescriptor, cnnlDestroyTensorDescriptor)
MLUSIM_CNNL(cnnlResetTensorDescriptor, (void* value), Reset(value))
MLUSIM_CNNL(cnnlSetTensorDescriptor, (void* value, int layout, int type, int rank, const int* dims),
            Set<int>(value, layout, type, rank, dims, nullptr))
MLUSIM_CNNL(cnnlSetTensorDescriptorEx,
            (void* value, int layout, int type, int rank, const int* dims, const int* strides),
            Set(value, layout, type, rank, dims, Needed(strides, "the strides")))
MLUSIM_CNNL(cnnlGetTensorDescriptor, (void* value, int* layout, int* type, int* rank, int* dims),
            Get(value, layout, type, rank, dims, nullptr))
MLUSIM_CNNL(cnnlGetTensorDescriptorEx,
            (void* value, int* layout, int* type, int* rank, int* dims, int* strides),
            Get(value, layout, type, rank, dims, strides))
MLUSIM_EXPORT std::size_t cnnlGetTensorElementNum(void* value) {
  std::size_t count = 0;
  Outcome("cnnlGetTensorElementNum",
          [&] { With<Tensor>(value, [&](Tensor& tensor) { count = tensor.Count(); }); });
  return count;
}
MLUSIM_CNNL(cnnlSetTensorDescriptorPosition, (void* value, int position),
            Quantize(value, position, 1, 0))
MLUSIM_CNNL(cnnlSetTensorDescriptorPositionAndScale, (void* value, int position, float scale),
            Quantize(value, position, scale, 0))
MLUSIM_CNNL(cnnlSetTensorDescriptorPositionScaleAndOffset,
            (void* value, int position, float scale, int offset),
            Quantize(value, position, scale, offset))
MLUSIM_CNNL(cnnlGetTensorDescriptorPosition, (void* value, int* position),
            With<Tensor>(value, [&](Tensor& tensor) { *position = tensor.position; }))
MLUSIM_CNNL(cnnlGetTensorDescriptorPositionAndScale, (void* value, int* position, float* scale),
            With<Tensor>(value, [&](Tensor& tensor) {
              *position = tensor.position;
              *scale = tensor.scale;
            }))
MLUSIM_CNNL(cnnlGetTensorDescriptorPositionScaleAndOffset,
            (void* value, int* position, float* scale, int* offset),
            With<Tensor>(value, [&](Tensor& tensor) {
              *position = tensor.position;
              *scale = tensor.scale;
              *offset = tensor.offset;
            }))
MLUSIM_CNNL(cnnlSetTensorDescriptorOnchipDataType, (void* value, int type),
            With<Tensor>(value, [&](Tensor& tensor) { tensor.onchip_type = type; }))
MLUSIM_CNNL(cnnlGetTensorDescriptorOnchipDataType, (void* value, int* type),
            With<Tensor>(value, [&](Tensor& tensor) { *type = tensor.onchip_type; }))

MLUSIM_CNNL(cnnlSetTensorDescriptor_v2,
            (void* value, int layout, int type, int rank, const std::int64_t* dims),
            Set<std::int64_t>(value, layout, type, rank, dims, nullptr))
MLUSIM_CNNL(cnnlSetTensorDescriptorEx_v2,
            (void* value, int layout, int type, int rank, const std::int64_t* dims,
             const std::int64_t* strides),
            Set(value, layout, type, rank, dims, Needed(strides, "the strides")))
MLUSIM_CNNL(cnnlSetTensorDescriptorPointerMode, (void* value, int mode),
            With<Tensor>(value, [&](Tensor& tensor) { tensor.pointer_mode = mode; }))
