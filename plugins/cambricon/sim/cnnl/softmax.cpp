// Softmax and its logarithm over one of three dimensions.
#include <algorithm>
#include <cmath>

#include "enums.h"
#include "export.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

void Run(void* handle, int algorithm_value, int mode_value, void* x_desc, const void* x,
         void* y_desc, void* y) {
  Op op(handle);
  const Softmax algorithm = SoftmaxOf(algorithm_value);
  const SoftmaxMode mode = SoftmaxModeOf(mode_value);
  const Tensor x_tensor = op.Describe(x_desc, "x"), y_tensor = op.Describe(y_desc, "y");
  Op::RequireType(x_tensor, kFloats, "x");
  Op::RequireSameType(x_tensor, y_tensor);
  Op::RequireSameShape(x_tensor, y_tensor);
  Op::Require(x_tensor.rank() == 3,
              Text("x has ", x_tensor.rank(), " dimensions; softmax takes 3"));
  if (IsEmpty(x_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x"), out = op.Write(y_tensor, y, "y", true);
  const int axis = mode == SoftmaxMode::kHigh ? 0 : mode == SoftmaxMode::kMedium ? 1 : 2;
  op.Enqueue(8.0 * x_tensor.Count(), [=] {
    std::vector<float> values = Load<float>(in);
    const std::int64_t length = in.dims[axis], step = ContiguousStrides(in.dims)[axis];
    const auto count = static_cast<std::int64_t>(values.size());
    for (std::int64_t first = 0; first < count; ++first) {
      if (first / step % length != 0) continue;
      float* row = values.data() + first;
      float highest = row[0], sum = 0;
      for (std::int64_t i = 0; i < length; ++i) highest = std::max(highest, row[i * step]);
      for (std::int64_t i = 0; i < length; ++i) sum += std::exp(row[i * step] - highest);
      for (std::int64_t i = 0; i < length; ++i) {
        const float shifted = row[i * step] - highest;
        row[i * step] =
            algorithm == Softmax::kLog ? shifted - std::log(sum) : std::exp(shifted) / sum;
      }
    }
    Store(out, values);
  });
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_CNNL(cnnlSoftmaxForward,
            (void* handle, int algorithm, int mode, const void*, void* x_desc, const void* x,
             const void*, void* y_desc, void* y),
            Run(handle, algorithm, mode, x_desc, x, y_desc, y))
MLUSIM_CNNL(cnnlSoftmaxForward_v2,
            (void* handle, int algorithm, int mode, int /* prefer */, const void*, void* x_desc,
             const void* x, const void*, void* y_desc, void* y),
            Run(handle, algorithm, mode, x_desc, x, y_desc, y))
