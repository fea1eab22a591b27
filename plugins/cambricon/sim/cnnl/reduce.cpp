// Reductions over chosen dimensions.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "descriptor.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

// cnnlReduceOp_t
enum ReduceOp {
  kAdd = 0,
  kAverage = 1,
  kMultiply = 2,
  kMaximum = 3,
  kMinimum = 4,
  kAnd = 5,
  kOr = 6,
  kNorm1 = 7,
  kNorm2 = 8,
  kMaximumLast = 9,
  kMinimumLast = 10,
  kNormP = 11,
  kAbsoluteSum = 12,
  kSquareSum = 13,
};

// cnnlReduceIndices_t
enum Indices { kNone = 0, kFlattened = 1, kOnly = 2 };

struct Reduce : Object {
  MLUSIM_OBJECT("reduce descriptor")

  bool was_set = false;
  std::vector<int> axes;
  int op = kAdd;
  int indices = kNone;
  int index_type = 0;  // 0: 32 bits, 1: 16 bits
  float power = 2;
};

bool HasIndices(int op) {
  return op == kMaximum || op == kMinimum || op == kMaximumLast || op == kMinimumLast;
}

void Set(void* value, const int* axes, int count, int op, int indices, int index_type,
         float power) {
  Needed(axes, "the axes");
  With<Reduce>(value, [&](Reduce& reduce) {
    Op::Require(count >= 1 && count <= kMaxRank, Text(count, " axes"));
    Op::Require(op >= kAdd && op <= kSquareSum, Text(op, " is no cnnlReduceOp_t"));
    Op::Require(indices >= kNone && indices <= kOnly, Text(indices, " is no cnnlReduceIndices_t"));
    reduce.axes.assign(axes, axes + count);
    reduce.op = op;
    reduce.indices = indices;
    reduce.index_type = index_type;
    reduce.power = power;
    reduce.was_set = true;
  });
}

std::size_t Scratch(const Tensor& x) { return WorkspaceFor(x.ExtentBytes() / 8); }

void Query(void* handle, void* x_desc, void* y_desc, void* descriptor, std::size_t* size) {
  const Op op(handle);
  SetOf<Reduce>(descriptor);
  if (y_desc) op.Describe(y_desc, "the output");
  Answer(size, Scratch(op.Describe(x_desc, "the input")));
}

// The elements that make one output, gathered row by row: the kept dimensions outside, the reduced
// ones inside.
Operand ReducedInside(const Operand& in, const std::vector<bool>& reduced) {
  Operand turned = in;
  turned.dims.clear();
  turned.strides.clear();
  for (const bool inside : {false, true}) {
    for (std::size_t axis = 0; axis < in.dims.size(); ++axis) {
      if (reduced[axis] != inside) continue;
      turned.dims.push_back(in.dims[axis]);
      turned.strides.push_back(in.strides[axis]);
    }
  }
  return turned;
}

// In pairs, so that the error grows with the logarithm of the length as on parallel hardware.
template <typename T>
T Sum(const T* values, std::int64_t count) {
  if (count <= 32) {
    T sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += values[i];
    return sum;
  }
  const std::int64_t half = count / 2;
  return Sum(values, half) + Sum(values + half, count - half);
}

template <typename T>
struct Extreme {
  T value;
  std::int64_t place;
};

template <typename T>
Extreme<T> Find(const T* values, std::int64_t count, bool highest, bool last) {
  Extreme<T> best{values[0], 0};
  for (std::int64_t i = 1; i < count; ++i) {
    const bool better = highest ? values[i] > best.value : values[i] < best.value;
    const bool nan = values[i] != values[i], found = best.value != best.value;
    const bool again = last && (values[i] == best.value || (nan && found));
    if (better || (nan && !found) || again) best = {values[i], i};
  }
  return best;
}

// Of integers, the low bits.
template <typename T>
T Product(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

template <typename T>
T Fold(const Reduce& reduce, std::vector<T>& row) {
  const auto count = static_cast<std::int64_t>(row.size());
  switch (reduce.op) {
    case kAverage:
      return Sum(row.data(), count) / static_cast<T>(count);
    case kMultiply: {
      T product = 1;
      for (const T value : row) product = Product(product, value);
      return product;
    }
    case kAnd:
      return std::all_of(row.begin(), row.end(), [](T v) { return v != 0; });
    case kOr:
      return std::any_of(row.begin(), row.end(), [](T v) { return v != 0; });
    case kNorm1:
    case kAbsoluteSum:
      for (T& value : row) value = value < 0 ? -value : value;
      return Sum(row.data(), count);
    case kNorm2:
    case kSquareSum: {
      for (T& value : row) value *= value;
      const T sum = Sum(row.data(), count);
      return reduce.op == kSquareSum ? sum : static_cast<T>(std::sqrt(sum));
    }
    case kNormP:
      for (T& value : row) {
        value = static_cast<T>(std::pow(std::fabs(static_cast<double>(value)), reduce.power));
      }
      return static_cast<T>(std::pow(Sum(row.data(), count), 1 / reduce.power));
    default:
      return Sum(row.data(), count);
  }
}

struct Outputs {
  Operand values, indices;  // without data when not wanted
};

template <typename T>
void Compute(const Reduce& reduce, const Operand& in, std::int64_t length, const Outputs& out,
             float alpha, float beta) {
  const std::vector<T> x = Load<T>(in);
  const std::size_t rows = length == 0 ? 0 : x.size() / length;
  std::vector<T> values(rows);
  std::vector<std::int64_t> places(rows);
  const bool highest = reduce.op == kMaximum || reduce.op == kMaximumLast;
  const bool last = reduce.op == kMaximumLast || reduce.op == kMinimumLast;
  for (std::size_t row = 0; row < rows; ++row) {
    if (HasIndices(reduce.op)) {
      const Extreme<T> best = Find(x.data() + row * length, length, highest, last);
      values[row] = best.value;
      places[row] = best.place;
    } else {
      std::vector<T> elements(x.begin() + row * length, x.begin() + (row + 1) * length);
      values[row] = Fold(reduce, elements);
    }
  }
  if (out.indices.data) Store(out.indices, places);
  if (!out.values.data) return;
  const std::vector<T> old = beta != 0 ? Load<T>(out.values) : std::vector<T>(rows, T(0));
  if (alpha != 1 || beta != 0) {
    for (std::size_t row = 0; row < rows; ++row) {
      values[row] = static_cast<T>(alpha * values[row] + beta * old[row]);
    }
  }
  Wrap(out.values.type, values);
  Store(out.values, values);
}

// `index_desc` null: indices of the output's shape in `index_bytes` bytes.
void Run(void* handle, void* descriptor, void* workspace, std::size_t bytes, const void* alpha,
         void* in_desc, const void* in_data, void* index_desc, std::size_t index_bytes,
         void* index_data, const void* beta, void* out_desc, void* out_data) {
  Op op(handle);
  const Reduce reduce = SetOf<Reduce>(descriptor);
  const Tensor from = op.Describe(in_desc, "the input");
  Op::RequireType(from, {kFloat, kHalf, kBfloat16, kInt32, kInt64, kBool, kUint8}, "the input");
  std::vector<bool> reduced(from.rank(), false);
  Dims kept = from.dims;
  std::int64_t length = 1;
  for (const int axis : reduce.axes) {
    const int place = Op::AxisOf(from, axis);
    Op::Require(!reduced[place], Text("axis ", axis, " is named twice"));
    reduced[place] = true;
    length *= from.dims[place];
    kept[place] = 1;
  }
  const bool want_values = reduce.indices != kOnly;
  const bool want_indices = reduce.indices != kNone && HasIndices(reduce.op) && index_data;
  Tensor to;
  if (want_values || out_desc) {
    to = op.Describe(out_desc, "the output");
    Op::RequireSameType(from, to);
    Op::RequireShape(to, kept, "the output");
  }
  Tensor places;
  if (want_indices) {
    if (index_desc)
      places = op.Describe(index_desc, "the indices");
    else {
      places.type = reduce.index_type == 1 ? kInt16 : kInt32;
      places.dims = kept;
      places.strides = ContiguousStrides(kept);
      Op::Require(
          index_bytes >= places.ExtentBytes(),
          Text("the indices have ", index_bytes, " bytes, ", places.ExtentBytes(), " are needed"));
    }
    Op::RequireShape(places, kept, "the indices");
  }
  if (IsEmpty(from)) return;
  const Operand in = op.Read(from, in_data, "the input");
  Outputs out;
  if (want_values) out.values = op.Write(to, out_data, "the output");
  if (want_indices) out.indices = op.Write(places, index_data, "the indices");
  op.Workspace(workspace, bytes, Scratch(from));
  const float a = FactorAt(alpha, 1);
  const float b = FactorAt(beta, 0);
  op.Enqueue(1.0 * from.Count(), [=] {
    const Operand turned = ReducedInside(in, reduced);
    WithArithmetic(in.type, [&](auto sample) {
      Compute<decltype(sample)>(reduce, turned, length, out, a, b);
    });
  });
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_LIFETIME(Reduce, cnnlCreateReduceDescriptor, cnnlDestroyReduceDescriptor)
MLUSIM_CNNL(cnnlSetReduceDescriptor,
            (void* value, const int* axes, int count, int op, int /* data type */, int /* nan */,
             int indices, int index_type),
            Set(value, axes, count, op, indices, index_type, 2))
MLUSIM_CNNL(cnnlSetReduceDescriptor_v2,
            (void* value, const int* axes, int count, int op, int /* data type */, int /* nan */,
             int indices, int index_type, float power),
            Set(value, axes, count, op, indices, index_type, power))
MLUSIM_CNNL(cnnlGetReduceOpWorkspaceSize,
            (void* handle, void* in_desc, void* out_desc, void* descriptor, std::size_t* size),
            Query(handle, in_desc, out_desc, descriptor, size))
MLUSIM_CNNL(cnnlGetReduceOpWorkspaceSize_v2,
            (void* handle, void* in_desc, void* out_desc, void*, void* descriptor,
             std::size_t* size),
            Query(handle, in_desc, out_desc, descriptor, size))
MLUSIM_CNNL(cnnlReduce,
            (void* handle, void* descriptor, void* workspace, std::size_t bytes, const void* alpha,
             void* in_desc, const void* in, std::size_t index_bytes, void* index, const void* beta,
             void* out_desc, void* out),
            Run(handle, descriptor, workspace, bytes, alpha, in_desc, in, nullptr, index_bytes,
                index, beta, out_desc, out))
MLUSIM_CNNL(cnnlReduce_v2,
            (void* handle, void* descriptor, void* in_desc, const void* in, const void* alpha,
             const void* beta, void* workspace, std::size_t bytes, void* out_desc, void* out,
             void* index_desc, void* index),
            Run(handle, descriptor, workspace, bytes, alpha, in_desc, in, index_desc, 0, index,
                beta, out_desc, out))
