#include "kernels/machine/vmath.h"
#include "kernels/rows/rows.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// Numbers that are summed as floats, in sixteen lanes, before the sum goes on in double.
constexpr Size kSumFloats = 2048;

HEADRACE_INLINE VI IsNan(V x) { return BroadcastInt(-1) - (x == x); }

// The last `count` floats of a row, and `filler`.
HEADRACE_INLINE V LoadTail(const float* p, int count, float filler) {
  static const std::int32_t kPlaces[kWidth] = {0, 1, 2,  3,  4,  5,  6,  7,
                                               8, 9, 10, 11, 12, 13, 14, 15};
  const VI is_there = LoadInt(kPlaces) < BroadcastInt(count);
  return Select(is_there, LoadFirst(p, count), Broadcast(filler));
}

// Calls f(vector, place, count) for the whole row, the end filled up.
template <class F>
HEADRACE_INLINE void EachVector(const float* x, Size length, float filler, F f) {
  Size i = 0;
  for (; i + kWidth <= length; i += kWidth) f(Load(x + i), i, kWidth);
  if (i < length) {
    const int left = static_cast<int>(length - i);
    f(LoadTail(x + i, left, filler), i, left);
  }
}

// The sum of map(x); what the end is filled up with must map to nothing.
template <class F>
HEADRACE_INLINE double SumOf(const float* x, Size length, float filler, F map) {
  double total = 0;
  for (Size begin = 0; begin < length; begin += kSumFloats) {
    const Size count = length - begin < kSumFloats ? length - begin : kSumFloats;
    V sum = Broadcast(0.0f);
    EachVector(x + begin, count, filler, [&](V v, Size, int) { sum = sum + map(v); });
    total += static_cast<double>(Sum(sum));
  }
  return total;
}

// The largest of map(x), or a NaN; what the end is filled up with must map to -inf.
template <class F>
HEADRACE_INLINE float LargestOf(const float* x, Size length, float filler, F map) {
  constexpr int kSides = 4;  // one vector would wait for itself
  V most[kSides];
  VI is_number[kSides];
  for (int side = 0; side < kSides; ++side) {
    most[side] = Broadcast(-__builtin_inff());
    is_number[side] = BroadcastInt(-1);
  }
  const auto take = [&](int side, V v) {
    is_number[side] = is_number[side] & (v == v);
    most[side] = AtLeast(most[side], map(v));  // of a number and NaN, the number
  };
  Size i = 0;
  for (; i + kSides * kWidth <= length; i += kSides * kWidth) {
    for (int side = 0; side < kSides; ++side) take(side, Load(x + i + side * kWidth));
  }
  EachVector(x + i, length - i, filler, [&](V v, Size, int) { take(0, v); });
  const VI all = is_number[0] & is_number[1] & is_number[2] & is_number[3];
  if (Bits(all) != 0xffffu) return __builtin_nanf("");
  return Largest(AtLeast(AtLeast(most[0], most[1]), AtLeast(most[2], most[3])));
}

HEADRACE_INLINE float LargestOf(const float* x, Size length) {
  return LargestOf(x, length, -__builtin_inff(), [](V v) { return v; });
}

HEADRACE_INLINE float LeastOf(const float* x, Size length) {
  return -LargestOf(x, length, __builtin_inff(), [](V v) { return -v; });
}

HEADRACE_INLINE float ProductOf(const float* x, Size length) {
  V made = Broadcast(1.0f);
  EachVector(x, length, 1.0f, [&](V v, Size, int) { made = made * v; });
  float lanes[kWidth], product = 1;
  Store(lanes, made);
  for (const float lane : lanes) product *= lane;
  return product;
}

void SoftmaxDown(const float* x, float* y, Size length, Size stride, int count, bool logarithm) {
  V most = Broadcast(-__builtin_inff());
  for (Size r = 0; r < length; ++r) {
    const V v = LoadFirst(x + r * stride, count);
    most = Select(IsNan(v) | (most < v), v, most);
  }
  V sum = Broadcast(0.0f);
  for (Size r = 0; r < length; ++r) {
    const V less = LoadFirst(x + r * stride, count) - most, grown = ShrinkingExp(less);
    sum = sum + grown;
    StoreFirst(y + r * stride, logarithm ? less : grown, count);
  }
  const V log_of_sum = Log(sum), share = Broadcast(1.0f) / sum;
  for (Size r = 0; r < length; ++r) {
    const V v = LoadFirst(y + r * stride, count);
    StoreFirst(y + r * stride, logarithm ? v - log_of_sum : v * share, count);
  }
}

// Rows that are shorter than a vector, sixteen at a time, each in a lane of its own.
void SoftmaxShort(const float* x, float* y, Size rows, Size length, bool logarithm) {
  alignas(64) float turned[kWidth][kWidth] = {};
  for (Size r = 0; r < rows; r += kWidth, x += kWidth * length, y += kWidth * length) {
    const int count = VectorCount(rows - r);
    for (int lane = 0; lane < count; ++lane) {
      for (Size i = 0; i < length; ++i) turned[i][lane] = x[lane * length + i];
    }
    SoftmaxDown(turned[0], turned[0], length, kWidth, kWidth, logarithm);
    for (int lane = 0; lane < count; ++lane) {
      for (Size i = 0; i < length; ++i) y[lane * length + i] = turned[i][lane];
    }
  }
}

void Softmax(const float* x, float* y, Size rows, Size length, bool logarithm) {
  if (length < kWidth) return SoftmaxShort(x, y, rows, length, logarithm);
  const Size whole = length / kWidth * kWidth;
  const int left = static_cast<int>(length - whole);
  for (Size r = 0; r < rows; ++r, x += length, y += length) {
    const V most = Broadcast(LargestOf(x, length));
    V sum = Broadcast(0.0f);
    for (Size i = 0; i < whole; i += kWidth) {
      const V less = Load(x + i) - most, grown = ShrinkingExp(less);
      sum = sum + grown;
      Store(y + i, logarithm ? less : grown);
    }
    // What does not fill a vector stays in a register: it would be waited for in memory.
    V rest = Broadcast(0.0f);
    if (left != 0) {
      const V less = LoadTail(x + whole, left, -__builtin_inff()) - most;
      const V grown = ShrinkingExp(less);
      sum = sum + grown;
      rest = logarithm ? less : grown;
    }
    const V all = Broadcast(Sum(sum));
    const V share = Broadcast(1.0f) / all, log_of_all = logarithm ? Log(all) : all;
    const auto finish = [&](V v) HEADRACE_INLINE_LAMBDA {
      return logarithm ? v - log_of_all : v * share;
    };
    for (Size i = 0; i < whole; i += kWidth) Store(y + i, finish(Load(y + i)));
    if (left != 0) StoreFirst(y + whole, finish(rest), left);
  }
}

void LayerNorm(const float* x, const float* scale, const float* bias, float* y, Size rows,
               Size length, double epsilon) {
  const double count = static_cast<double>(length);
  for (Size r = 0; r < rows; ++r, x += length, y += length) {
    // Deviations are taken from the mean as a float. What is wrong with that one, by rounding and
    // by the sum of large numbers, is the mean of the deviations.
    const float center = static_cast<float>(SumOf(x, length, 0.0f, [](V v) { return v; }) / count);
    const V middle = Broadcast(center);
    const double rest = SumOf(x, length, center, [&](V v) { return v - middle; }) / count;
    const double squares = SumOf(x, length, center, [&](V v) {
      const V deviation = v - middle;
      return deviation * deviation;
    });
    const double factor = 1 / __builtin_sqrt(squares / count - rest * rest + epsilon);
    const V factors = Broadcast(static_cast<float>(factor));
    const V offset = Broadcast(static_cast<float>(-rest * factor));
    EachVector(x, length, 0.0f, [&](V v, Size i, int some) HEADRACE_INLINE_LAMBDA {
      V made = MulAdd(v - middle, factors, offset);
      if (scale != nullptr) made = made * LoadFirst(scale + i, some);
      if (bias != nullptr) made = made + LoadFirst(bias + i, some);
      StoreFirst(y + i, made, some);
    });
  }
}

// One number of each row that does not fill a vector; `length` may be known while compiling.
template <class T, class L, class F>
HEADRACE_INLINE void FoldShort(const float* x, float* y, Size rows, L length, T begin, T divisor,
                               F fold) {
  for (Size r = 0; r < rows; ++r, x += length) {
    T made = begin;
    for (Size i = 0; i < length; ++i) made = fold(made, static_cast<T>(x[i]));
    y[r] = static_cast<float>(made / divisor);
  }
}

template <class L>
void FoldShortRows(Fold fold, const float* x, float* y, Size rows, L length) {
  const auto add = [](double sum, double value) { return sum + value; };
  // A comparison with NaN is false, so one that was taken stays.
  const auto larger = [](float best, float value) {
    return (value > best) | (value != value) ? value : best;
  };
  const auto lesser = [](float best, float value) {
    return (value < best) | (value != value) ? value : best;
  };
  switch (fold) {
    case Fold::kSum:
      return FoldShort(x, y, rows, length, 0.0, 1.0, add);
    case Fold::kMean:
      return FoldShort(x, y, rows, length, 0.0, static_cast<double>(Size{length}), add);
    case Fold::kMax:
      return FoldShort(x, y, rows, length, -__builtin_inff(), 1.0f, larger);
    case Fold::kMin:
      return FoldShort(x, y, rows, length, __builtin_inff(), 1.0f, lesser);
    case Fold::kProduct:
      return FoldShort(x, y, rows, length, 1.0f, 1.0f, [](float a, float b) { return a * b; });
  }
}

template <Size kLength>
struct Known {
  constexpr operator Size() const { return kLength; }
};

void FoldRow(Fold fold, const float* x, float* y, Size rows, Size length) {
  if (length == 2) return FoldShortRows(fold, x, y, rows, Known<2>());
  if (length == 3) return FoldShortRows(fold, x, y, rows, Known<3>());
  if (length == 4) return FoldShortRows(fold, x, y, rows, Known<4>());
  if (length < kWidth) return FoldShortRows(fold, x, y, rows, length);
  for (Size r = 0; r < rows; ++r, x += length) {
    switch (fold) {
      case Fold::kSum:
        y[r] = static_cast<float>(SumOf(x, length, 0.0f, [](V v) { return v; }));
        break;
      case Fold::kMean:
        y[r] = static_cast<float>(SumOf(x, length, 0.0f, [](V v) { return v; }) /
                                  static_cast<double>(length));
        break;
      case Fold::kMax:
        y[r] = LargestOf(x, length);
        break;
      case Fold::kMin:
        y[r] = LeastOf(x, length);
        break;
      case Fold::kProduct:
        y[r] = ProductOf(x, length);
        break;
    }
  }
}

}  // namespace

extern const RowTable kRowKernels = {Softmax, SoftmaxDown, LayerNorm, FoldRow};

}  // namespace headrace::cpu::HEADRACE_ISA
