#include "kernels/rows/ranking.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// An index as wide as an element: both are chosen by one mask. Bytes cannot count that far.
template <int kBytes>
struct IndexOf {
  using Type = std::int32_t;
};
template <>
struct IndexOf<8> {
  using Type = std::int64_t;
};

// Whether `x` takes the place of `best`, which stands before it. No `||`: a branch would keep the
// loop scalar.
template <class T, bool kLargest, bool kLast>
HEADRACE_INLINE bool Replaces(T x, T best) {
  const bool beyond = kLargest ? x > best : x < best;
  const bool beside = kLast & (x == best);
  const bool is_nan = x != x, was_number = best == best;  // integers are never NaN
  return (was_number & (beyond | beside | is_nan)) | (kLast & (best != best) & is_nan);
}

template <class T, bool kLargest, bool kLast>
void FindColumns(const T* x, Size length, Size stride, Size count, std::int64_t* y) {
  using Index = typename IndexOf<sizeof(T)>::Type;
  T best[kRankedColumns];
  Index at[kRankedColumns];
  for (Size i = 0; i < count; ++i) {
    best[i] = x[i];
    at[i] = 0;
  }
  for (Size row = 1; row < length; ++row) {
    const T* from = x + row * stride;
    const Index here = static_cast<Index>(row);
    HEADRACE_NO_ALIAS_LOOP
    for (Size i = 0; i < count; ++i) {
      const bool more = Replaces<T, kLargest, kLast>(from[i], best[i]);
      best[i] = more ? from[i] : best[i];
      at[i] = more ? here : at[i];
    }
  }
  for (Size i = 0; i < count; ++i) y[i] = at[i];
}

template <class T, bool kLargest>
Size SkipWorse(const T* x, Size count, T bound) {
  using Index = typename IndexOf<sizeof(T)>::Type;
  Size i = 0;
  for (; i + kRankedBlock <= count; i += kRankedBlock) {
    Index found = 0;
    // Negated, so that nothing is skipped where either is NaN.
    for (Size j = i; j < i + kRankedBlock; ++j) {
      found |= (kLargest ? !(x[j] <= bound) : !(x[j] >= bound)) ? Index{1} : Index{0};
    }
    if (found != 0) break;
  }
  return i;
}

template <class T>
Size Skip(const T* x, Size count, T bound, bool largest) {
  return largest ? SkipWorse<T, true>(x, count, bound) : SkipWorse<T, false>(x, count, bound);
}

template <class T>
void Find(const T* x, Size length, Size stride, Size count, std::int64_t* y, bool largest,
          bool last) {
  if (largest) {
    if (last) return FindColumns<T, true, true>(x, length, stride, count, y);
    return FindColumns<T, true, false>(x, length, stride, count, y);
  }
  if (last) return FindColumns<T, false, true>(x, length, stride, count, y);
  return FindColumns<T, false, false>(x, length, stride, count, y);
}

}  // namespace

extern const RankingTable kRankings = {{Find<float>, Skip<float>},
                                       {Find<double>, Skip<double>},
                                       {Find<std::int8_t>, Skip<std::int8_t>},
                                       {Find<std::uint8_t>, Skip<std::uint8_t>},
                                       {Find<std::int32_t>, Skip<std::int32_t>},
                                       {Find<std::int64_t>, Skip<std::int64_t>}};

}  // namespace headrace::cpu::HEADRACE_ISA
