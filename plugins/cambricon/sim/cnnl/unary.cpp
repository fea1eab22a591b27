// Functions of one element.
#include <cmath>
#include <type_traits>

#include "enums.h"
#include "export.h"
#include "op.h"
#include "values.h"

namespace mlusim::network {
namespace {

constexpr std::initializer_list<int> kNumbers{kFloat, kHalf, kBfloat16, kDouble, kInt32, kInt64};
constexpr std::initializer_list<int> kReals{kFloat, kHalf, kBfloat16, kDouble};

template <typename Function>
void Map(void* handle, void* x_descriptor, const void* x, void* y_descriptor, void* y,
         std::initializer_list<int> types, Function function) {
  Op op(handle);
  const Tensor x_tensor = op.Describe(x_descriptor, "x"), y_tensor = op.Describe(y_descriptor, "y");
  Op::RequireType(x_tensor, types, "x");
  Op::RequireSameType(x_tensor, y_tensor);
  Op::RequireSameShape(x_tensor, y_tensor);
  if (IsEmpty(x_tensor)) return;
  const Operand in = op.Read(x_tensor, x, "x"), out = op.Write(y_tensor, y, "y", true);
  op.Enqueue(8.0 * x_tensor.Count(), [=] {
    WithArithmetic(in.type, [&](auto sample) {
      using T = decltype(sample);
      std::vector<T> values = Load<T>(in);
      for (T& v : values) v = static_cast<T>(function(v));
      Wrap(out.type, values);
      Store(out, values);
    });
  });
}

template <typename T>
T Sign(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x;
}

double LogTo(LogBase base, double x) {
  return base == LogBase::kE ? std::log(x) : base == LogBase::kTwo ? std::log2(x) : std::log10(x);
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

#define MLUSIM_MAP(name, types, expression)                                             \
  MLUSIM_CNNL(name, (void* handle, void* x_desc, const void* x, void* y_desc, void* y), \
              Map(handle, x_desc, x, y_desc, y, types, [](auto v) { return expression; }))
// The same with a preference, which changes no result here.
#define MLUSIM_MAP_V2(name, types, expression)                                               \
  MLUSIM_CNNL(name, (void* handle, int, void* x_desc, const void* x, void* y_desc, void* y), \
              Map(handle, x_desc, x, y_desc, y, types, [](auto v) { return expression; }))

MLUSIM_MAP(cnnlSquare, kNumbers, v* v)
MLUSIM_MAP(cnnlSqrt, kReals, std::sqrt(v))
MLUSIM_MAP(cnnlAbs, kNumbers, v < 0 ? -v : v)
MLUSIM_MAP(cnnlNegTensor, kNumbers, -v)
MLUSIM_MAP(cnnlSign, kNumbers, Sign(v))
MLUSIM_MAP(cnnlFloor, kReals, std::floor(v))
MLUSIM_MAP(cnnlCeil, kReals, std::ceil(v))
MLUSIM_MAP(cnnlRound, kReals, std::nearbyint(v))
MLUSIM_MAP(cnnlReciprocal, kReals, decltype(v)(1) / v)
MLUSIM_MAP_V2(cnnlSqrt_v2, kReals, std::sqrt(v))
MLUSIM_MAP_V2(cnnlRsqrt_v2, kReals, decltype(v)(1) / std::sqrt(v))
MLUSIM_MAP_V2(cnnlExp_v2, kReals, std::exp(v))
MLUSIM_MAP_V2(cnnlErf_v2, kReals, std::erf(v))
MLUSIM_MAP_V2(cnnlSin_v2, kReals, std::sin(v))
MLUSIM_MAP_V2(cnnlCos_v2, kReals, std::cos(v))
MLUSIM_CNNL(cnnlLog_v2,
            (void* handle, int, int base, void* x_desc, const void* x, void* y_desc, void* y),
            const LogBase known = LogBaseOf(base);
            Map(handle, x_desc, x, y_desc, y, kReals,
                [known](auto v) { return LogTo(known, static_cast<double>(v)); }))
