#include "elementwise.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "exp.h"

namespace headrace::cpu {
namespace {

// Larger and smaller as numpy has them: NaN wins.
template <class T>
HEADRACE_INLINE T Larger(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T>
HEADRACE_INLINE T Smaller(T a, T b) {
  return a < b || a != a ? a : b;
}

// Integers wrap around, which the language allows for unsigned ones only.
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                             std::common_type<T>>::type;

struct Add {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
struct Subtract {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  }
};
struct Multiply {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};
struct Divide {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return a / b;
  }
};
struct Maximum {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return Larger(a, b);
  }
};
struct Minimum {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return Smaller(a, b);
  }
};
struct Prelu {
  template <class T>
  HEADRACE_INLINE T operator()(T x, T slope) const {
    return x < 0 ? x * slope : x;
  }
};

// One loop for each pair of steps: a step that is known vectorises.
template <class F, class T>
HEADRACE_INLINE void BinaryBody(const T* a, Size a_step, const T* b, Size b_step, T* y,
                                Size count) {
  const F f;
  if (a_step == 0) {
    const T left = *a;
    HEADRACE_NO_ALIAS_LOOP
    for (Size i = 0; i < count; ++i) y[i] = f(left, b[i * b_step]);
  } else if (b_step == 0) {
    const T right = *b;
    HEADRACE_NO_ALIAS_LOOP
    for (Size i = 0; i < count; ++i) y[i] = f(a[i], right);
  } else {
    HEADRACE_NO_ALIAS_LOOP
    for (Size i = 0; i < count; ++i) y[i] = f(a[i], b[i]);
  }
}

#define HEADRACE_BINARY(F, T)                                                                \
  HEADRACE_MULTIVERSION void Loop##F(const T* a, Size a_step, const T* b, Size b_step, T* y, \
                                     Size count) {                                           \
    BinaryBody<F>(a, a_step, b, b_step, y, count);                                           \
  }

#define HEADRACE_BINARY_NUMBERS(F) \
  HEADRACE_BINARY(F, float)        \
  HEADRACE_BINARY(F, double)       \
  HEADRACE_BINARY(F, std::int32_t) \
  HEADRACE_BINARY(F, std::int64_t)

#define HEADRACE_BINARY_FLOATS(F) \
  HEADRACE_BINARY(F, float)       \
  HEADRACE_BINARY(F, double)

HEADRACE_BINARY_NUMBERS(Add)
HEADRACE_BINARY_NUMBERS(Subtract)
HEADRACE_BINARY_NUMBERS(Multiply)
HEADRACE_BINARY_NUMBERS(Maximum)
HEADRACE_BINARY_NUMBERS(Minimum)
HEADRACE_BINARY_FLOATS(Divide)
HEADRACE_BINARY_FLOATS(Prelu)

// alpha * x + beta, limited to 0..1.
template <class T>
HEADRACE_INLINE T LimitedLine(T x, T alpha, T beta) {
  return Smaller(Larger(x * alpha + beta, T{0}), T{1});
}

template <class T>
HEADRACE_INLINE T HardGate(T x) {
  return LimitedLine(x, T{1} / 6, T{1} / 2);
}

#define HEADRACE_UNARY_OF(NAME, T, VALUE)                                   \
  HEADRACE_MULTIVERSION void NAME(const T* x, T* y, Size count, T p, T q) { \
    (void)p, (void)q;                                                       \
    HEADRACE_NO_ALIAS_LOOP                                                  \
    for (Size i = 0; i < count; ++i) {                                      \
      const T v = x[i];                                                     \
      y[i] = VALUE;                                                         \
    }                                                                       \
  }

#define HEADRACE_UNARY(NAME, VALUE)     \
  HEADRACE_UNARY_OF(NAME, float, VALUE) \
  HEADRACE_UNARY_OF(NAME, double, VALUE)

HEADRACE_UNARY(Relu, (v > 0 || v != v ? v : 0))
HEADRACE_UNARY(Negative, -v)
HEADRACE_UNARY(Abs, std::fabs(v))
HEADRACE_UNARY(Sqrt, std::sqrt(v))
HEADRACE_UNARY(Reciprocal, 1 / v)
HEADRACE_UNARY(Floor, std::floor(v))
HEADRACE_UNARY(Ceil, std::ceil(v))
HEADRACE_UNARY(Round, std::nearbyint(v))
HEADRACE_UNARY(SigmoidLoop, Sigmoid(v))
HEADRACE_UNARY(Swish, v* Sigmoid(p* v))
HEADRACE_UNARY(LeakyRelu, (v < 0 ? v * p : v))
HEADRACE_UNARY(HardSigmoid, LimitedLine(v, p, q))
HEADRACE_UNARY(HardSwish, v* HardGate(v))
HEADRACE_UNARY(Clip, Smaller(Larger(v, p), q))

template <class Function>
struct Named {
  const char* op;
  Function loop;
};

template <class Function, std::size_t kCount>
Function Find(const Named<Function> (&table)[kCount], const char* op) {
  for (const auto& entry : table) {
    if (std::strcmp(entry.op, op) == 0) return entry.loop;
  }
  return nullptr;
}

}  // namespace

template <class T>
UnaryLoop<T> FindUnary(const char* op) {
  static const Named<UnaryLoop<T>> kTable[] = {
      {"relu", Relu},
      {"negative", Negative},
      {"abs", Abs},
      {"sqrt", Sqrt},
      {"reciprocal", Reciprocal},
      {"floor", Floor},
      {"ceil", Ceil},
      {"round", Round},
      {"sigmoid", SigmoidLoop},
      {"swish", Swish},
      {"leaky_relu", LeakyRelu},
      {"hard_sigmoid", HardSigmoid},
      {"hard_swish", HardSwish},
      {"clip", Clip},
  };
  return Find(kTable, op);
}

template <class T>
BinaryLoop<T> FindBinary(const char* op) {
  static const Named<BinaryLoop<T>> kNumbers[] = {
      {"add", LoopAdd},         {"subtract", LoopSubtract}, {"multiply", LoopMultiply},
      {"maximum", LoopMaximum}, {"minimum", LoopMinimum},
  };
  const BinaryLoop<T> found = Find(kNumbers, op);
  if constexpr (std::is_floating_point_v<T>) {
    static const Named<BinaryLoop<T>> kFloats[] = {{"divide", LoopDivide}, {"prelu", LoopPrelu}};
    return found != nullptr ? found : Find(kFloats, op);
  }
  return found;
}

template UnaryLoop<float> FindUnary<float>(const char*);
template UnaryLoop<double> FindUnary<double>(const char*);
template BinaryLoop<float> FindBinary<float>(const char*);
template BinaryLoop<double> FindBinary<double>(const char*);
template BinaryLoop<std::int32_t> FindBinary<std::int32_t>(const char*);
template BinaryLoop<std::int64_t> FindBinary<std::int64_t>(const char*);

}  // namespace headrace::cpu
