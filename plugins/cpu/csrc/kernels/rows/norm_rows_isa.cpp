#include "kernels/rows/norm_rows.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// Elements summed in their own type before the sum goes on in double: few enough that nothing is
// lost, many enough that the conversion costs nothing.
constexpr Size kBlockElements = 2048;

// Independent sums, so that the loop is vectorised: the language does not let the compiler reorder
// the additions of a single one.
constexpr Size kSums = 32;

// The sum of map(x[i]).
template <class T, class Map>
HEADRACE_INLINE double SumOf(const T* x, Size count, Map map) {
  double total = 0;
  for (Size begin = 0; begin < count; begin += kBlockElements) {
    const Size length = count - begin < kBlockElements ? count - begin : kBlockElements;
    const T* block = x + begin;
    T sums[kSums] = {};
    Size i = 0;
    for (; i + kSums <= length; i += kSums) {
      for (Size k = 0; k < kSums; ++k) sums[k] += map(block[i + k]);
    }
    for (Size k = 0; i + k < length; ++k) sums[k] += map(block[i + k]);
    for (const T sum : sums) total += static_cast<double>(sum);
  }
  return total;
}

template <class T>
double Sum(const T* x, Size count) {
  return SumOf(x, count, [](T value) { return value; });
}

template <class T>
double Squares(const T* x, T center, Size count) {
  return SumOf(x, count, [center](T value) { return (value - center) * (value - center); });
}

template <class T>
void Line(const T* x, T center, T factor, T offset, T* y, Size count) {
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < count; ++i) y[i] = (x[i] - center) * factor + offset;
}

template <class T>
void Lines(const T* x, const T* center, const T* factor, const T* offset, T* y, Size count) {
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < count; ++i) y[i] = (x[i] - center[i]) * factor[i] + offset[i];
}

}  // namespace

extern const RowNormTable kRowNormLoops = {
    {Sum<float>, Squares<float>, Line<float>, Lines<float>},
    {Sum<double>, Squares<double>, Line<double>, Lines<double>}};

}  // namespace headrace::cpu::HEADRACE_ISA
