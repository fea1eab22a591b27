#include <cmath>
#include <cstring>

#include "kernels/elementwise/elementwise.h"
#include "kernels/machine/combine.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

struct Subtract {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return static_cast<T>(Wrapping(a) - Wrapping(b));
  }
};
struct Divide {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    return a / b;
  }
};
// Towards zero. There is no number to divide 0 by: it gives 0; and the least by -1 wraps around.
struct DivideIntegers {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    if (b == 0) return 0;
    return b == -1 ? static_cast<T>(0 - Wrapping(a)) : a / b;
  }
};
// The same of 32 bits: doubles hold them, their quotient cut is exact, and vectors divide doubles.
struct DivideIntegersOf32 {
  HEADRACE_INLINE std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    const auto negative = static_cast<std::int32_t>(0 - Wrapping(a));
    const bool is_plain = (b != 0) & (b != -1);
    const double divisor = is_plain ? b : 1;
    const auto quotient = static_cast<std::int32_t>(a / divisor);
    return is_plain ? quotient : (b == 0 ? 0 : negative);
  }
};
// And of 8 bits, of which the same holds of floats.
struct DivideBytes {
  template <class T>
  HEADRACE_INLINE T operator()(T a, T b) const {
    const float quotient = static_cast<float>(a) / static_cast<float>(b == 0 ? T(1) : b);
    return b == 0 ? T(0) : static_cast<T>(static_cast<std::int32_t>(quotient));
  }
};
struct Equal {
  template <class T>
  HEADRACE_INLINE bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Less {
  template <class T>
  HEADRACE_INLINE bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  HEADRACE_INLINE bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  HEADRACE_INLINE bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  HEADRACE_INLINE bool operator()(T a, T b) const {
    return a >= b;
  }
};
// Of truth values without a jump.
struct And {
  HEADRACE_INLINE bool operator()(bool a, bool b) const { return a & b; }
};
struct Or {
  HEADRACE_INLINE bool operator()(bool a, bool b) const { return a | b; }
};
struct Xor {
  HEADRACE_INLINE bool operator()(bool a, bool b) const { return a != b; }
};
struct Prelu {
  template <class T>
  HEADRACE_INLINE T operator()(T x, T slope) const {
    return x < 0 ? x * slope : x;
  }
};

// One loop for each pair of steps: a step that is known vectorises.
template <class F, class T, class Y>
HEADRACE_INLINE void BinaryBody(const T* a, Size a_step, const T* b, Size b_step, Y* y,
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

template <class F, class T, class Y = T>
void Binary(const T* a, Size a_step, const T* b, Size b_step, Y* y, Size count) {
  BinaryBody<F>(a, a_step, b, b_step, y, count);
}

constexpr Size kRemainders = 64;

// What is left of a after a whole number of times b, with the sign of a; or with that of b.
template <bool kHasSignOfB>
void Remainder(const float* a, Size a_step, const float* b, Size b_step, float* y, Size count) {
  for (Size begin = 0; begin < count; begin += kRemainders) {
    const Size size = count - begin < kRemainders ? count - begin : kRemainders;
    float left[kRemainders], right[kRemainders], made[kRemainders];
    for (Size i = 0; i < size; ++i) left[i] = a[(begin + i) * a_step];
    for (Size i = 0; i < size; ++i) right[i] = b[(begin + i) * b_step];
    int far = 0;
    for (Size i = 0; i < size; ++i) {
      const double x = left[i], by = right[i], times = x / by, cut = std::trunc(times);
      // Up to here the product of a whole number and b is exact, and so is what it leaves.
      far |= !(std::fabs(times) < 536870912.0);
      double rest = x - cut * by;
      // The quotient may have been rounded to the next number.
      const bool is_beyond = (rest < 0 && x > 0) || (rest > 0 && x < 0);
      rest += is_beyond ? std::copysign(by, x) : 0.0;
      rest = cut == 0 ? x : rest;  // b may be infinite
      made[i] = std::copysign(static_cast<float>(rest), left[i]);
    }
    if (far != 0) {
      for (Size i = 0; i < size; ++i) made[i] = std::fmod(left[i], right[i]);
    }
    if (kHasSignOfB) {
      for (Size i = 0; i < size; ++i) {
        const float rest = made[i], other = rest + right[i];
        const float held = (rest < 0) != (right[i] < 0) ? other : rest;
        made[i] = rest == 0 ? std::copysign(0.0f, right[i]) : held;
      }
    }
    std::memcpy(y + begin, made, static_cast<std::size_t>(size) * sizeof(float));
  }
}

// alpha * x + beta, limited to 0..1.
HEADRACE_INLINE double LimitedLine(double x, double alpha, double beta) {
  return Minimum{}(Maximum{}(x * alpha + beta, 0.0), 1.0);
}

HEADRACE_INLINE double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Functions of one number; p and q are the attributes of those that have some.
HEADRACE_INLINE double Relu(double v, double, double) { return v > 0 || v != v ? v : 0; }
HEADRACE_INLINE double Negative(double v, double, double) { return -v; }
HEADRACE_INLINE double Abs(double v, double, double) { return std::fabs(v); }
HEADRACE_INLINE double Sqrt(double v, double, double) { return std::sqrt(v); }
HEADRACE_INLINE double Reciprocal(double v, double, double) { return 1 / v; }
HEADRACE_INLINE double Floor(double v, double, double) { return std::floor(v); }
HEADRACE_INLINE double Ceil(double v, double, double) { return std::ceil(v); }
HEADRACE_INLINE double Round(double v, double, double) { return std::nearbyint(v); }
HEADRACE_INLINE double Erf(double v, double, double) { return std::erf(v); }
HEADRACE_INLINE double Sigmoid(double v, double, double) { return Sigmoid(v); }
HEADRACE_INLINE double Swish(double v, double p, double) { return v * Sigmoid(p * v); }
HEADRACE_INLINE double LeakyRelu(double v, double p, double) { return v < 0 ? v * p : v; }
HEADRACE_INLINE double HardSigmoid(double v, double p, double q) { return LimitedLine(v, p, q); }
HEADRACE_INLINE double HardSwish(double v, double, double) {
  return v * LimitedLine(v, 1.0 / 6, 0.5);
}

template <double (*kFunction)(double v, double p, double q)>
void Unary(const double* x, double* y, Size count, double p, double q) {
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < count; ++i) y[i] = kFunction(x[i], p, q);
}

// A limit that is NaN makes everything NaN: the loop then has plain comparisons alone.
template <class T>
void Clip(const T* x, T low, T high, T* y, Size count) {
  const bool is_known = low == low && high == high;
  const T none = low == low ? high : low;
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < count; ++i) {
    const T v = is_known ? x[i] : none, raised = v <= low ? low : v;
    y[i] = raised >= high ? high : raised;
  }
}

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
      {"relu", Unary<Relu>},
      {"negative", Unary<Negative>},
      {"abs", Unary<Abs>},
      {"sqrt", Unary<Sqrt>},
      {"reciprocal", Unary<Reciprocal>},
      {"floor", Unary<Floor>},
      {"ceil", Unary<Ceil>},
      {"round", Unary<Round>},
      {"erf", Unary<Erf>},
      {"sigmoid", Unary<Sigmoid>},
      {"swish", Unary<Swish>},
      {"leaky_relu", Unary<LeakyRelu>},
      {"hard_sigmoid", Unary<HardSigmoid>},
      {"hard_swish", Unary<HardSwish>},
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

template <class T, class Division>
BinaryLoop<T> FindIntegers(const char* op) {
  return std::strcmp(op, "divide") == 0 ? Binary<Division, T> : FindNumbers<T>(op);
}

template <class T>
BinaryLoop<T> FindBytes(const char* op) {
  return std::strcmp(op, "divide") == 0 ? Binary<DivideBytes, T> : nullptr;
}

template <class T>
BinaryLoop<T, bool> FindComparison(const char* op) {
  static constexpr Named<BinaryLoop<T, bool>> kTable[] = {
      {"equal", Binary<Equal, T, bool>},
      {"less", Binary<Less, T, bool>},
      {"less_equal", Binary<LessEqual, T, bool>},
      {"greater", Binary<Greater, T, bool>},
      {"greater_equal", Binary<GreaterEqual, T, bool>},
  };
  return Find(kTable, op);
}

BinaryLoop<bool> FindLogic(const char* op) {
  static constexpr Named<BinaryLoop<bool>> kTable[] = {
      {"equal", Binary<Equal, bool>},
      {"logical_and", Binary<And, bool>},
      {"logical_or", Binary<Or, bool>},
      {"logical_xor", Binary<Xor, bool>},
  };
  return Find(kTable, op);
}

BinaryLoop<float> FindFloats(const char* op) {
  static constexpr Named<BinaryLoop<float>> kTable[] = {{"fmod", Remainder<false>},
                                                        {"mod", Remainder<true>}};
  return Find(kTable, op);
}

}  // namespace

extern const ElementwiseTable kElementwise = {{FindDoubles},
                                              {FindIntegers<std::int32_t, DivideIntegersOf32>},
                                              {FindIntegers<std::int64_t, DivideIntegers>},
                                              {FindBytes<std::int8_t>},
                                              {FindBytes<std::uint8_t>},
                                              {FindFloats},
                                              {FindComparison<double>},
                                              {FindComparison<std::int32_t>},
                                              {FindComparison<std::int64_t>},
                                              {FindLogic},
                                              {Clip<double>},
                                              {Clip<std::int8_t>},
                                              {Clip<std::uint8_t>},
                                              {Clip<std::int32_t>},
                                              {Clip<std::int64_t>},
                                              FindUnary};

}  // namespace headrace::cpu::HEADRACE_ISA
