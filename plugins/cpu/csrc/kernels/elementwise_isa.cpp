#include <cmath>
#include <cstring>

#include "elementwise.h"

namespace headrace::cpu::HEADRACE_ISA {
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
HEADRACE_INLINE double Wrapping(double x) { return x; }
HEADRACE_INLINE std::uint32_t Wrapping(std::int32_t x) { return static_cast<std::uint32_t>(x); }
HEADRACE_INLINE std::uint64_t Wrapping(std::int64_t x) { return static_cast<std::uint64_t>(x); }

struct Add {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return static_cast<T>(Wrapping(a) + Wrapping(b));
  }
};
struct Subtract {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return static_cast<T>(Wrapping(a) - Wrapping(b));
  }
};
struct Multiply {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return static_cast<T>(Wrapping(a) * Wrapping(b));
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

template <class F, class T>
void Binary(const T* a, Size a_step, const T* b, Size b_step, T* y, Size count) {
  BinaryBody<F>(a, a_step, b, b_step, y, count);
}

// alpha * x + beta, limited to 0..1.
HEADRACE_INLINE double LimitedLine(double x, double alpha, double beta) {
  return Smaller(Larger(x * alpha + beta, 0.0), 1.0);
}

HEADRACE_INLINE double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

#define HEADRACE_UNARY(NAME, VALUE)                                       \
  void NAME(const double* x, double* y, Size count, double p, double q) { \
    (void)p, (void)q;                                                     \
    HEADRACE_NO_ALIAS_LOOP                                                \
    for (Size i = 0; i < count; ++i) {                                    \
      const double v = x[i];                                              \
      y[i] = VALUE;                                                       \
    }                                                                     \
  }

HEADRACE_UNARY(Relu, (v > 0 || v != v ? v : 0))
HEADRACE_UNARY(Negative, -v)
HEADRACE_UNARY(Abs, std::fabs(v))
HEADRACE_UNARY(Sqrt, std::sqrt(v))
HEADRACE_UNARY(Reciprocal, 1 / v)
HEADRACE_UNARY(Floor, std::floor(v))
HEADRACE_UNARY(Ceil, std::ceil(v))
HEADRACE_UNARY(Round, std::nearbyint(v))
HEADRACE_UNARY(Erf, std::erf(v))
HEADRACE_UNARY(SigmoidLoop, Sigmoid(v))
HEADRACE_UNARY(Swish, v* Sigmoid(p* v))
HEADRACE_UNARY(LeakyRelu, (v < 0 ? v * p : v))
HEADRACE_UNARY(HardSigmoid, LimitedLine(v, p, q))
HEADRACE_UNARY(HardSwish, v* LimitedLine(v, 1.0 / 6, 0.5))
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

UnaryLoop FindUnary(const char* op) {
  static constexpr Named<UnaryLoop> kTable[] = {
      {"relu", Relu},
      {"negative", Negative},
      {"abs", Abs},
      {"sqrt", Sqrt},
      {"reciprocal", Reciprocal},
      {"floor", Floor},
      {"ceil", Ceil},
      {"round", Round},
      {"erf", Erf},
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
BinaryLoop<T> FindNumbers(const char* op) {
  static constexpr Named<BinaryLoop<T>> kTable[] = {
      {"add", Binary<Add, T>},           {"subtract", Binary<Subtract, T>},
      {"multiply", Binary<Multiply, T>}, {"maximum", Binary<Maximum, T>},
      {"minimum", Binary<Minimum, T>},
  };
  return Find(kTable, op);
}

BinaryLoop<double> FindDoubles(const char* op) {
  static constexpr Named<BinaryLoop<double>> kTable[] = {{"divide", Binary<Divide, double>},
                                                         {"prelu", Binary<Prelu, double>}};
  const BinaryLoop<double> found = FindNumbers<double>(op);
  return found != nullptr ? found : Find(kTable, op);
}

}  // namespace

extern const ElementwiseTable kElementwise = {
    {FindDoubles}, {FindNumbers<std::int32_t>}, {FindNumbers<std::int64_t>}, FindUnary};

}  // namespace headrace::cpu::HEADRACE_ISA
