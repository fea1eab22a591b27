#include "kernels/elementwise/program.h"
#include "kernels/machine/half.h"
#include "kernels/machine/quantize.h"
#include "kernels/machine/vmath.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

template <class F>
HEADRACE_INLINE void Map1(const float* a, float* to, Size vectors, F f) {
  for (Size i = 0; i < vectors * kWidth; i += kWidth) Store(to + i, f(Load(a + i)));
}

template <class F>
HEADRACE_INLINE void Map2(const float* a, const float* b, float* to, Size vectors, F f) {
  for (Size i = 0; i < vectors * kWidth; i += kWidth) Store(to + i, f(Load(a + i), Load(b + i)));
}

template <class F>
HEADRACE_INLINE void Map3(const float* a, const float* b, const float* c, float* to, Size vectors,
                          F f) {
  for (Size i = 0; i < vectors * kWidth; i += kWidth) {
    Store(to + i, f(Load(a + i), Load(b + i), Load(c + i)));
  }
}

HEADRACE_INLINE V Truth(VI mask) { return AsFloats(mask & AsInts(Broadcast(1.0f))); }
HEADRACE_INLINE VI IsTrue(V x) { return BroadcastInt(-1) - (x == Broadcast(0.0f)); }
HEADRACE_INLINE V Gate(V x) { return AtMost(AtLeast(x, Broadcast(0.0f)), Broadcast(1.0f)); }

// Whether all are the first: an operand that is one number, or one for each row.
bool IsOneNumber(const float* x, Size vectors) {
  const V first = Broadcast(x[0]);
  VI same = BroadcastInt(-1);
  for (Size i = 0; i < vectors * kWidth; i += kWidth) same = same & (Load(x + i) == first);
  return Bits(same) == 0xffffu;
}

// Squares and roots are exact, cubes within two units in the last place; others are as the library
// has them.
void Power(const float* a, const float* b, float* to, Size vectors) {
  const float power = IsOneNumber(b, vectors) ? b[0] : 0.0f;
  if (power == 2.0f) return Map1(a, to, vectors, [](V x) HEADRACE_INLINE_LAMBDA { return x * x; });
  if (power == 3.0f) {  // as of the usual approximation of GELU
    return Map1(a, to, vectors, [](V x) HEADRACE_INLINE_LAMBDA { return x * x * x; });
  }
  if (power == 1.0f) return Map1(a, to, vectors, [](V x) HEADRACE_INLINE_LAMBDA { return x; });
  if (power == 0.5f) {
    return Map1(a, to, vectors,
                [](V x) HEADRACE_INLINE_LAMBDA {  // of -0 and of -infinity, a power is not the root
                  const V infinity = Broadcast(__builtin_inff());
                  return Select(x == -infinity, infinity, Sqrt(x) + Broadcast(0.0f));
                });
  }
  for (Size i = 0; i < vectors * kWidth; ++i) to[i] = __builtin_powf(a[i], b[i]);
}

void Quantize(const float* a, const float* b, const float* c, float* to, Size vectors, float low,
              float high) {
  Map3(a, b, c, to, vectors, [=](V x, V scale, V zero) HEADRACE_INLINE_LAMBDA {
    return Kept(RoundEven(x / scale), zero, Broadcast(low), Broadcast(high));
  });
}

void RunStep(Op op, const float* a, const float* b, const float* c, float* to, Size n) {
  switch (op) {
    case Op::kAdd:
      return Map2(a, b, to, n, [](V x, V y) HEADRACE_INLINE_LAMBDA { return x + y; });
    case Op::kSubtract:
      return Map2(a, b, to, n, [](V x, V y) HEADRACE_INLINE_LAMBDA { return x - y; });
    case Op::kMultiply:
      return Map2(a, b, to, n, [](V x, V y) HEADRACE_INLINE_LAMBDA { return x * y; });
    case Op::kDivide:
      return Map2(a, b, to, n, [](V x, V y) HEADRACE_INLINE_LAMBDA { return x / y; });
    case Op::kMaximum:
      return Map2(a, b, to, n, [](V x, V y) HEADRACE_INLINE_LAMBDA { return MaxOrNan(x, y); });
    case Op::kMinimum:
      return Map2(a, b, to, n, [](V x, V y) HEADRACE_INLINE_LAMBDA { return MinOrNan(x, y); });
    case Op::kPower:
      return Power(a, b, to, n);
    case Op::kNegative:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return -x; });
    case Op::kAbs:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return Abs(x); });
    case Op::kFloor:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return Floor(x); });
    case Op::kCeil:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return Ceil(x); });
    case Op::kRound:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return RoundEven(x); });
    case Op::kSqrt:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return Sqrt(x); });
    case Op::kReciprocal:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return Broadcast(1.0f) / x; });
    case Op::kExp:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return FullExp(x); });
    case Op::kLog:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return Log(x); });
    case Op::kErf:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return Erf(x); });
    case Op::kSigmoid:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return FullSigmoid(x); });
    case Op::kTanh:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return Tanh(x); });
    case Op::kAsin:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return Asin(x); });
    case Op::kAcos:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return Acos(x); });
    case Op::kAtan:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return Atan(x); });
    case Op::kSin:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return Sin(x); });
    case Op::kCos:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return Cos(x); });
    case Op::kRelu:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return AtLeast(x, Broadcast(0.0f)); });
    case Op::kClip:
      return Map3(a, b, c, to, n, [](V x, V low, V high) HEADRACE_INLINE_LAMBDA {
        return MinOrNan(MaxOrNan(x, low), high);
      });
    case Op::kLeakyRelu:
      return Map2(a, b, to, n, [](V x, V y) HEADRACE_INLINE_LAMBDA {
        return Select(x < Broadcast(0.0f), x * y, x);
      });
    case Op::kHardSigmoid:
      return Map3(a, b, c, to, n,
                  [](V x, V y, V z) HEADRACE_INLINE_LAMBDA { return Gate(MulAdd(x, y, z)); });
    case Op::kHardSwish:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA {
        return x * Gate(MulAdd(x, Broadcast(1.0f / 6), Broadcast(0.5f)));
      });
    case Op::kSwish:
      return Map2(a, b, to, n,
                  [](V x, V y) HEADRACE_INLINE_LAMBDA { return x * FullSigmoid(y * x); });
    case Op::kEqual:
      return Map2(a, b, to, n, [](V x, V y) HEADRACE_INLINE_LAMBDA { return Truth(x == y); });
    case Op::kLess:
      return Map2(a, b, to, n, [](V x, V y) HEADRACE_INLINE_LAMBDA { return Truth(x < y); });
    case Op::kLessEqual:
      return Map2(a, b, to, n,
                  [](V x, V y) HEADRACE_INLINE_LAMBDA { return Truth((x < y) | (x == y)); });
    case Op::kGreater:
      return Map2(a, b, to, n, [](V x, V y) HEADRACE_INLINE_LAMBDA { return Truth(y < x); });
    case Op::kGreaterEqual:
      return Map2(a, b, to, n,
                  [](V x, V y) HEADRACE_INLINE_LAMBDA { return Truth((y < x) | (x == y)); });
    case Op::kAnd:
      return Map2(a, b, to, n,
                  [](V x, V y) HEADRACE_INLINE_LAMBDA { return Truth(IsTrue(x) & IsTrue(y)); });
    case Op::kOr:
      return Map2(a, b, to, n,
                  [](V x, V y) HEADRACE_INLINE_LAMBDA { return Truth(IsTrue(x) | IsTrue(y)); });
    case Op::kNot:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return Truth(x == Broadcast(0.0f)); });
    case Op::kIsNan:
      return Map1(a, to, n,
                  [](V x) HEADRACE_INLINE_LAMBDA { return Broadcast(1.0f) - Truth(x == x); });
    case Op::kWhere:
      return Map3(a, b, c, to, n,
                  [](V x, V y, V z) HEADRACE_INLINE_LAMBDA { return Select(IsTrue(x), y, z); });
    case Op::kDequantize:
      return Map3(a, b, c, to, n,
                  [](V x, V scale, V zero) HEADRACE_INLINE_LAMBDA { return (x - zero) * scale; });
    case Op::kQuantizeInt8:
      return Quantize(a, b, c, to, n, -128, 127);
    case Op::kQuantizeUint8:
      return Quantize(a, b, c, to, n, 0, 255);
    case Op::kQuantizeInt16:
      return Quantize(a, b, c, to, n, -32768, 32767);
    case Op::kQuantizeUint16:
      return Quantize(a, b, c, to, n, 0, 65535);
    case Op::kFloat16:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return RoundTo<Float16>(x); });
    case Op::kBfloat16:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return RoundTo<Bfloat16>(x); });
    case Op::kIdentity:
    case Op::kCount:
      return Map1(a, to, n, [](V x) HEADRACE_INLINE_LAMBDA { return x; });
  }
}

void Run(const Step* steps, Size count, Size first_made, float* const* operands, Size vectors) {
  for (Size i = 0; i < count; ++i) {
    const Step& step = steps[i];
    RunStep(step.op, operands[step.a], operands[step.b], operands[step.c], operands[first_made + i],
            vectors);
  }
}

template <class T>
HEADRACE_INLINE void LoadRow(const T* from, Size count, float* to) {
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

HEADRACE_INLINE void LoadRow(const float* from, Size count, float* to) {
  Size i = 0;
  for (; i + kWidth <= count; i += kWidth) Store(to + i, Load(from + i));
  if (i < count) Store(to + i, LoadFirst(from + i, static_cast<int>(count - i)));
}

template <class T>
HEADRACE_INLINE float LoadOne(const T* from) {
  return static_cast<float>(*from);
}

// Floats of 16 bits, as `Half` reads them.
template <class Half>
struct Word {
  std::uint16_t bits;
};

// Whole vectors where they lie, and what is left over by way of a full vector.
template <class Half>
HEADRACE_INLINE void LoadRow(const Word<Half>* from, Size count, float* to) {
  const auto* words = reinterpret_cast<const std::uint16_t*>(from);
  Size i = 0;
  for (; i + kWidth <= count; i += kWidth) Store(to + i, Half::Load(words + i));
  if (i == count) return;
  std::uint16_t rest[kWidth] = {};
  for (Size left = i; left < count; ++left) rest[left - i] = words[left];
  Store(to + i, Half::Load(rest));
}

template <class Half>
HEADRACE_INLINE float LoadOne(const Word<Half>* from) {
  float made[kWidth];
  LoadRow(from, 1, made);
  return made[0];
}

template <class T>
void LoadRows(const ProgramRows& rows, float* to) {
  const Size length = rows.length, stride = rows.stride;  // not read again after each store
  const T* from = reinterpret_cast<const T*>(rows.from);
  const float* const end = to + rows.count * length;
  for (; to != end; from += stride, to += length) {
    if (rows.step != 0) {
      LoadRow(from, length, to);
      continue;
    }
    const V all = Broadcast(LoadOne(from));
    for (Size i = 0; i < length; i += kWidth) Store(to + i, all);
  }
}

// `from` has floats up to the end of its last vector.
template <class Half>
void StoreHalves(const float* from, Size count, char* to) {
  auto* y = reinterpret_cast<std::uint16_t*>(to);
  Size i = 0;
  for (; i + kWidth <= count; i += kWidth) Half::Store(y + i, Load(from + i));
  if (i == count) return;
  std::uint16_t words[kWidth];
  Half::Store(words, Load(from + i));
  for (Size left = i; left < count; ++left) y[left] = words[left - i];
}

void LoadItems(const ProgramRows& rows, Item item, float* to) {
  switch (item) {
    case Item::kFloat:
      return LoadRows<float>(rows, to);
    case Item::kBool:
    case Item::kUint8:
      return LoadRows<std::uint8_t>(rows, to);
    case Item::kInt8:
      return LoadRows<std::int8_t>(rows, to);
    case Item::kInt16:
      return LoadRows<std::int16_t>(rows, to);
    case Item::kUint16:
      return LoadRows<std::uint16_t>(rows, to);
    case Item::kInt32:
      return LoadRows<std::int32_t>(rows, to);
    case Item::kInt64:
      return LoadRows<std::int64_t>(rows, to);
    case Item::kFloat16:
      return LoadRows<Word<Float16>>(rows, to);
    case Item::kBfloat16:
      return LoadRows<Word<Bfloat16>>(rows, to);
  }
}

// The lower half of each integer, whether it has a sign or not.
void StoreWords(const float* from, Size count, char* to) {
  auto* y = reinterpret_cast<std::uint16_t*>(to);
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < count; ++i) {
    y[i] = static_cast<std::uint16_t>(static_cast<std::int32_t>(from[i]));
  }
}

void StoreItems(const float* from, Item item, Size count, char* to) {
  if (item == Item::kInt16 || item == Item::kUint16) return StoreWords(from, count, to);
  if (item == Item::kFloat16) return StoreHalves<Float16>(from, count, to);
  if (item == Item::kBfloat16) return StoreHalves<Bfloat16>(from, count, to);
  auto* y = reinterpret_cast<std::uint8_t*>(to);
  if (item == Item::kBool) {
    for (Size i = 0; i < count; ++i) y[i] = from[i] != 0;
    return;
  }
  for (Size i = 0; i < count; i += kWidth) {
    StoreBytes(y + i, ToInts(Load(from + i)), static_cast<int>(count - i));
  }
}

}  // namespace

extern const ProgramTable kPrograms = {Run, LoadItems, StoreItems};

}  // namespace headrace::cpu::HEADRACE_ISA
