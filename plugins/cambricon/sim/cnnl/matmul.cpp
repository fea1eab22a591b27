// Products of matrices and of stacks of them, in floating or fixed point.
#include <cstring>

#include "descriptor.h"
#include "op.h"
#include "quantized.h"
#include "values.h"

namespace mlusim::network {
namespace {

struct MatMul : Object {
  MLUSIM_OBJECT("matmul descriptor")

  bool transpose_a = false, transpose_b = false;
};

// Filled by a heuristic result; an op may be given one that never was.
struct Algorithm : Object {
  MLUSIM_OBJECT("matmul algorithm")
};

struct Heuristic : Object {
  MLUSIM_OBJECT("matmul heuristic result")

  bool was_set = false;
  std::size_t scratch = 0;
};

// The attributes of cnnlMatMulDescAttribute_t that mean something here.
enum Attribute {
  kComputeType = 0,
  kTransposeA = 3,
  kTransposeB = 4,
  kAllowTf32 = 10,
  kUseBeta = 11
};

void SetAttribute(void* value, int attribute, const void* data, std::size_t bytes) {
  Needed(data, "the value");
  With<MatMul>(value, [&](MatMul& matmul) {
    std::int32_t number = 0;
    Op::Require(bytes == sizeof number, Text("the value has ", bytes, " bytes, not 4"));
    std::memcpy(&number, data, sizeof number);
    switch (attribute) {
      case kTransposeA:
        matmul.transpose_a = number != 0;
        break;
      case kTransposeB:
        matmul.transpose_b = number != 0;
        break;
      case kComputeType:
      case kAllowTf32:
      case kUseBeta:
        break;
      default:
        throw Failure(Fault::kNotSupported, Text("attribute ", attribute));
    }
  });
}

struct Shapes {
  std::int64_t rows = 0, inner = 0, columns = 0;
  Dims stack;  // what both operands broadcast to, without the matrices
};

Shapes Match(const Tensor& a, const Tensor& b, const Tensor& c, bool transpose_a, bool transpose_b,
             bool stacked) {
  Op::Require(a.rank() >= 2 && b.rank() >= 2, "a factor has fewer than two dimensions");
  if (!stacked)
    Op::Require(a.rank() == 2 && b.rank() == 2, "a factor has more than two dimensions");
  const auto dims = [](const Tensor& tensor, bool transposed) {
    const std::int64_t first = tensor.dims[tensor.rank() - 2], last = tensor.dims.back();
    return transposed ? std::make_pair(last, first) : std::make_pair(first, last);
  };
  const auto left = dims(a, transpose_a), right = dims(b, transpose_b);
  Op::Require(left.second == right.first,
              Text("shapes ", a.DescribeShape(), transpose_a ? " transposed" : "", " and ",
                   b.DescribeShape(), transpose_b ? " transposed" : "", " do not match"));
  Shapes shapes{left.first, left.second, right.second, {}};
  shapes.stack = BroadcastShape(Dims(a.dims.begin(), a.dims.end() - 2),
                                Dims(b.dims.begin(), b.dims.end() - 2));
  Dims product = shapes.stack;
  product.insert(product.end(), {shapes.rows, shapes.columns});
  Op::RequireShape(c, product, "the product");
  return shapes;
}

// Seen as the stack of its matrices, not transposed.
Operand Stack(const Operand& operand, const Dims& stack, bool transposed) {
  Dims dims = stack;
  dims.insert(dims.end(), operand.dims.end() - 2, operand.dims.end());
  Operand wide = Broadcast(operand, dims);
  // A matrix may have a dimension of 1, which Broadcast() left without a step; it needs none.
  if (transposed) {
    std::swap(wide.dims[dims.size() - 1], wide.dims[dims.size() - 2]);
    std::swap(wide.strides[dims.size() - 1], wide.strides[dims.size() - 2]);
  }
  return wide;
}

template <typename T, typename Sum>
std::vector<float> Multiply(const Shapes& shapes, const std::vector<T>& a, const std::vector<T>& b,
                            double unit) {
  std::int64_t matrices = 1;
  for (const std::int64_t dim : shapes.stack) matrices *= dim;
  std::vector<float> product(matrices * shapes.rows * shapes.columns);
  std::vector<Sum> acc(shapes.columns);
  for (std::int64_t row = 0; row < matrices * shapes.rows; ++row) {
    const T* left = a.data() + row * shapes.inner;
    const T* right = b.data() + row / shapes.rows * shapes.inner * shapes.columns;
    std::fill(acc.begin(), acc.end(), Sum(0));
    for (std::int64_t k = 0; k < shapes.inner; ++k, right += shapes.columns) {
      const Sum value = left[k];
      for (std::int64_t column = 0; column < shapes.columns; ++column) {
        acc[column] += value * static_cast<Sum>(right[column]);
      }
    }
    for (std::int64_t column = 0; column < shapes.columns; ++column) {
      product[row * shapes.columns + column] = static_cast<float>(acc[column] * unit);
    }
  }
  return product;
}

std::vector<float> Products(const Shapes& shapes, const Operand& a, const Operand& b) {
  if (a.type != kInt8 && a.type != kInt16) {
    return Multiply<float, float>(shapes, Load<float>(a), Load<float>(b), 1);
  }
  // An int8 product is at most 2^14: the sums of any matrix that fits a card stay exact in 64 bits.
  return Multiply<std::int64_t, std::int64_t>(shapes, Load<std::int64_t>(a), Load<std::int64_t>(b),
                                              Unit(a) * Unit(b));
}

std::size_t Scratch(const Tensor& b) { return WorkspaceFor(b.ExtentBytes() / 4); }

struct Call {
  bool transpose_a, transpose_b, stacked, scratch;
  const void *alpha, *beta;
  void* workspace;
  std::size_t bytes;
  // A second output descriptor with its memory: the product goes there, and c is only added.
  void *d_desc, *d;
};

void Run(void* handle, const MatMul* described, Call call, void* a_desc, const void* a,
         void* b_desc, const void* b, void* c_desc, void* c) {
  Op op(handle);
  if (described) {
    call.transpose_a = described->transpose_a;
    call.transpose_b = described->transpose_b;
  }
  const Tensor a_tensor = op.Describe(a_desc, "a"), b_tensor = op.Describe(b_desc, "b");
  const Tensor c_tensor = op.Describe(c_desc, "c");
  RequireFactors(a_tensor, b_tensor, c_tensor);
  const Shapes shapes =
      Match(a_tensor, b_tensor, c_tensor, call.transpose_a, call.transpose_b, call.stacked);
  if (call.d_desc) Op::RequireSameShape(op.Describe(call.d_desc, "d"), c_tensor);
  if (IsEmpty(c_tensor)) return;
  const float of_product = call.alpha ? *static_cast<const float*>(call.alpha) : 1;
  const float of_c = call.beta ? *static_cast<const float*>(call.beta) : 0;
  Operand left, right;
  if (shapes.inner > 0) {
    left = Stack(op.Read(a_tensor, a, "a"), shapes.stack, call.transpose_a);
    right = Stack(op.Read(b_tensor, b, "b"), shapes.stack, call.transpose_b);
  }
  const bool apart = call.d && call.d != c;
  Operand old;
  if (apart && of_c != 0) old = op.Read(c_tensor, c, "c");
  const Operand out =
      apart ? op.Write(op.Describe(call.d_desc, "d"), call.d, "d") : op.Write(c_tensor, c, "c");
  if (!apart) old = out;
  if (call.scratch) op.Workspace(call.workspace, call.bytes, Scratch(b_tensor));
  op.Enqueue(2.0 * c_tensor.Count() * shapes.inner, [=] {
    std::vector<float> values =
        left.data ? Products(shapes, left, right) : std::vector<float>(out.Count(), 0.0f);
    for (float& value : values) value *= of_product;
    if (of_c != 0) {
      const std::vector<float> added = Load<float>(old);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += of_c * added[i];
    }
    Store(out, values);
  });
}

MatMul Described(void* descriptor) {
  const Lock lock = Guard();
  return *Find<MatMul>(descriptor);
}

void CheckAlgorithm(void* algorithm) {
  const Lock lock = Guard();
  if (algorithm) Find<Algorithm>(algorithm);
}

void Choose(void* handle, void* descriptor, void* b_desc, int requested, void** results,
            int* found) {
  const Op op(handle);
  Find<MatMul>(descriptor);
  const Tensor b = op.Describe(b_desc, "b");
  Op::Require(requested >= 1, "no result was asked for");
  const std::shared_ptr<Heuristic> result = Find<Heuristic>(*Needed(results, "the results"));
  result->scratch = Scratch(b);
  result->was_set = true;
  *Needed(found, "the number of results") = 1;
}

void ReadResult(void* value, void* algorithm, std::size_t* size) {
  CheckAlgorithm(Needed(algorithm, "the algorithm"));
  const Lock lock = Guard();
  Answer(size, SetOf<Heuristic>(value).scratch);
}

void QueryStacked(void* handle, void* a_desc, void* b_desc, void* c_desc, std::size_t* size) {
  const Op op(handle);
  op.Describe(a_desc, "a");
  op.Describe(c_desc, "c");
  Answer(size, Scratch(op.Describe(b_desc, "b")));
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_LIFETIME(MatMul, cnnlCreateMatMulDescriptor, cnnlDestroyMatMulDescriptor)
MLUSIM_LIFETIME(MatMul, cnnlMatMulDescCreate, cnnlMatMulDescDestroy)
MLUSIM_LIFETIME(Algorithm, cnnlCreateMatMulAlgo, cnnlDestroyMatMulAlgo)
MLUSIM_LIFETIME(Algorithm, cnnlMatMulAlgoCreate, cnnlMatMulAlgoDestroy)
MLUSIM_LIFETIME(Heuristic, cnnlCreateMatMulHeuristicResult, cnnlDestroyMatMulHeuristicResult)
MLUSIM_CNNL(cnnlSetMatMulDescAttr,
            (void* value, int attribute, const void* data, std::size_t bytes),
            SetAttribute(value, attribute, data, bytes))
MLUSIM_CNNL(cnnlGetMatMulAlgoHeuristic,
            (void* handle, void* descriptor, void*, void* b_desc, void*, void*, int /* prefer */,
             int requested, void** results, int* found),
            Choose(handle, descriptor, b_desc, requested, results, found))
MLUSIM_CNNL(cnnlGetMatMulHeuristicResult, (void* result, void* algorithm, std::size_t* size),
            ReadResult(result, algorithm, size))
MLUSIM_CNNL(cnnlGetBatchMatMulExAlgoHeuristic,
            (void* handle, void* descriptor, void*, void* b_desc, void*, int /* prefer */,
             int requested, void** results, int* found),
            Choose(handle, descriptor, b_desc, requested, results, found))
MLUSIM_CNNL(cnnlGetBatchMatMulExHeuristicResult, (void* result, void* algorithm, std::size_t* size),
            ReadResult(result, algorithm, size))

MLUSIM_CNNL(cnnlMatMul,
            (void* handle, bool transpose_a, bool transpose_b, const void* alpha, void* a_desc,
             const void* a, void* b_desc, const void* b, const void* beta, void* c_desc, void* c),
            Run(handle, nullptr,
                {transpose_a, transpose_b, false, false, alpha, beta, nullptr, 0, nullptr, nullptr},
                a_desc, a, b_desc, b, c_desc, c))
MLUSIM_CNNL(cnnlMatMul_v2,
            (void* handle, void* descriptor, void* algorithm, const void* alpha, void* a_desc,
             const void* a, void* b_desc, const void* b, const void* beta, void* c_desc, void* c,
             void* workspace, std::size_t bytes, void* d_desc, void* d),
            CheckAlgorithm(algorithm);
            const MatMul described = Described(descriptor);
            Run(handle, &described,
                {false, false, false, true, alpha, beta, workspace, bytes, d_desc, d}, a_desc, a,
                b_desc, b, c_desc, c))

MLUSIM_CNNL(cnnlBatchMatMul,
            (void* handle, bool transpose_a, bool transpose_b, void* a_desc, const void* a,
             void* b_desc, const void* b, void* c_desc, void* c),
            Run(handle, nullptr,
                {transpose_a, transpose_b, true, false, nullptr, nullptr, nullptr, 0, nullptr,
                 nullptr},
                a_desc, a, b_desc, b, c_desc, c))
MLUSIM_CNNL(cnnlGetBatchMatMulBCastWorkspaceSize,
            (void* handle, void* a_desc, void* b_desc, void* c_desc, std::size_t* size),
            QueryStacked(handle, a_desc, b_desc, c_desc, size))
MLUSIM_CNNL(cnnlBatchMatMulBCast,
            (void* handle, bool transpose_a, bool transpose_b, void* a_desc, const void* a,
             void* b_desc, const void* b, void* workspace, std::size_t bytes, void* c_desc,
             void* c),
            Run(handle, nullptr,
                {transpose_a, transpose_b, true, true, nullptr, nullptr, workspace, bytes, nullptr,
                 nullptr},
                a_desc, a, b_desc, b, c_desc, c))
MLUSIM_CNNL(cnnlBatchMatMulEx,
            (void* handle, void* descriptor, void* algorithm, const void* alpha, void* a_desc,
             const void* a, void* b_desc, const void* b, const void* beta, void* c_desc, void* c,
             void* workspace, std::size_t bytes),
            CheckAlgorithm(algorithm);
            const MatMul described = Described(descriptor);
            Run(handle, &described,
                {false, false, true, true, alpha, beta, workspace, bytes, nullptr, nullptr}, a_desc,
                a, b_desc, b, c_desc, c))
