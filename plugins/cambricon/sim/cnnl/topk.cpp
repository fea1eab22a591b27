// The best elements along a dimension.
#include <algorithm>
#include <numeric>

#include "export.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

constexpr std::initializer_list<int> kRanked{kFloat, kHalf, kInt8, kInt16, kInt32, kUint8};

std::size_t Scratch(const Tensor& in) { return WorkspaceFor(2 * in.ExtentBytes()); }

// True when `a` goes before `b`. NaN is the largest, as it is for the callers of the library.
template <typename T>
bool Before(T a, T b, bool largest) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan || b_nan) return largest ? a_nan && !b_nan : b_nan && !a_nan;
  return largest ? a > b : a < b;
}

void Query(void* handle, void* in_desc, int k, void* values_desc, void* index_desc,
           std::size_t* size) {
  const Op op(handle);
  Op::Require(k > 0, Text(k, " elements"));
  op.Describe(values_desc, "the values");
  op.Describe(index_desc, "the indices");
  Answer(size, Scratch(op.Describe(in_desc, "the input")));
}

// Sorted; of equal elements the first, which callers that do not ask for it must not count on.
void Run(void* handle, void* in_desc, const void* in_data, int k, int dim, bool largest,
         void* workspace, std::size_t bytes, void* values_desc, void* values_data, void* index_desc,
         void* index_data) {
  Op op(handle);
  const Tensor from = op.Describe(in_desc, "the input");
  const Tensor best = op.Describe(values_desc, "the values");
  const Tensor where = op.Describe(index_desc, "the indices");
  Op::RequireType(from, kRanked, "the input");
  Op::RequireType(where, {kInt32, kInt64}, "the indices");
  Op::RequireSameType(from, best);
  const int axis = Op::AxisOf(from, dim);
  Op::Require(k > 0 && k <= from.dims[axis],
              Text(k, " elements of a dimension of ", from.dims[axis]));
  Dims kept = from.dims;
  kept[axis] = k;
  Op::RequireShape(best, kept, "the values");
  Op::RequireShape(where, kept, "the indices");
  if (IsEmpty(from)) return;
  const Operand in = op.Read(from, in_data, "the input");
  const Operand values = op.Write(best, values_data, "the values");
  const Operand places = op.Write(where, index_data, "the indices");
  op.Workspace(workspace, bytes, Scratch(from));
  op.Enqueue(8.0 * from.Count(), [=] {
    const std::int64_t length = in.dims[axis], inner = ContiguousStrides(in.dims)[axis];
    const std::int64_t outer = in.Count() / (length * inner);
    WithArithmetic(in.type, [&](auto sample) {
      using T = decltype(sample);
      const std::vector<T> x = Load<T>(in);
      std::vector<T> chosen(outer * k * inner);
      std::vector<std::int64_t> at(chosen.size()), order(length);
      for (std::int64_t line = 0; line < outer * inner; ++line) {
        const T* first = x.data() + line / inner * length * inner + line % inner;
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
          return Before(first[a * inner], first[b * inner], largest);
        });
        for (std::int64_t n = 0; n < k; ++n) {
          const std::int64_t target = (line / inner * k + n) * inner + line % inner;
          chosen[target] = first[order[n] * inner];
          at[target] = order[n];
        }
      }
      Store(values, chosen);
      Store(places, at);
    });
  });
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_CNNL(cnnlGetTopKTensorWorkspaceSize,
            (void* handle, void* in_desc, int k, int /* dim */, bool /* largest */,
             void* values_desc, void* index_desc, std::size_t* size),
            Query(handle, in_desc, k, values_desc, index_desc, size))
MLUSIM_CNNL(cnnlTopKTensor_v3,
            (void* handle, void* in_desc, const void* in, int k, int dim, bool largest,
             bool /* sorted */, bool /* lower index first */, void* workspace, std::size_t bytes,
             void* values_desc, void* values, void* index_desc, void* index),
            Run(handle, in_desc, in, k, dim, largest, workspace, bytes, values_desc, values,
                index_desc, index))
