#include "kernels/machine/simd.h"
#include "kernels/windows/pool_last_table.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// Registers of sums that are kept at once: as many additions as hide the latency of one.
constexpr int kRuns = kParts == 4 ? 2 : 4;

struct Largest {
  static HEADRACE_INLINE V Start() { return Broadcast(-INFINITY); }
  static HEADRACE_INLINE V Fold(V best, V x) {
    return Select(x == x, AtLeast(best, x), x);  // a NaN stays, and one that comes is taken
  }
};

struct Total {
  static HEADRACE_INLINE V Start() { return Broadcast(0); }
  static HEADRACE_INLINE V Fold(V sum, V x) { return sum + x; }
};

// Rows by pointers.
struct Taps {
  const float* const* taps;
  HEADRACE_INLINE const float* operator[](Size i) const { return taps[i]; }
};

// Rows at even distances.
struct Steps {
  const float* first;
  Size stride;
  HEADRACE_INLINE const float* operator[](Size i) const { return first + i * stride; }
};

template <class Op, int kRunCount, class Source, class Last>
HEADRACE_INLINE void FoldSome(Source rows, Size count, Last last, float* y, Size c, int width) {
  const auto load = [&](const float* p, int r) {
    return r + 1 < kRunCount ? Load(p) : LoadSome(p, width);
  };
  V sum[kRunCount];
#pragma GCC unroll 4
  for (int r = 0; r < kRunCount; ++r) sum[r] = Op::Start();
  for (Size i = 0; i < count; ++i) {
    const float* row = rows[i] + c;
#pragma GCC unroll 4
    for (int r = 0; r < kRunCount; ++r) sum[r] = Op::Fold(sum[r], load(row + r * kWidth, r));
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRunCount; ++r) {
    StoreSome(y + c + r * kWidth, last(sum[r]), r + 1 < kRunCount ? kWidth : width);
  }
}

template <class Op, class Source, class Last>
HEADRACE_INLINE void FoldAll(Source rows, Size count, Last last, float* y, Size begin, Size end) {
  Size c = begin;
  for (; c + kRuns * kWidth <= end; c += kRuns * kWidth) {
    FoldSome<Op, kRuns>(rows, count, last, y, c, kWidth);
  }
  for (; c + kWidth <= end; c += kWidth) FoldSome<Op, 1>(rows, count, last, y, c, kWidth);
  if (c < end) FoldSome<Op, 1>(rows, count, last, y, c, static_cast<int>(end - c));
}

HEADRACE_INLINE V AsItIs(V x) { return x; }

void LargestTap(const float* const* taps, Size count, float* y, Size begin, Size end) {
  FoldAll<Largest>(Taps{taps}, count, AsItIs, y, begin, end);
}

void MeanTap(const float* const* taps, Size count, float divisor, float* y, Size begin, Size end) {
  const V by = Broadcast(divisor);
  FoldAll<Total>(Taps{taps}, count, [by](V sum) { return sum / by; }, y, begin, end);
}

void LargestRow(const float* x, Size stride, Size count, float* y, Size columns) {
  FoldAll<Largest>(Steps{x, stride}, count, AsItIs, y, 0, columns);
}

void RowMean(const float* x, Size stride, Size count, float divisor, float* y, Size columns) {
  const V by = Broadcast(divisor);
  FoldAll<Total>(Steps{x, stride}, count, [by](V sum) { return sum / by; }, y, 0, columns);
}

template <class T>
void LargestOf(const std::uint8_t* const* taps, Size count, std::uint8_t* y, Size channels) {
  typedef T Chunk __attribute__((vector_size(64)));
  constexpr Size kChunk = sizeof(Chunk);
  const T least = T(-1) < T(0) ? -128 : 0;
  const auto fold = [&](Size c, Size bytes) {
    Chunk best = Chunk{} + least, next{};
    for (Size i = 0; i < count; ++i) {
      std::memcpy(&next, taps[i] + c, static_cast<std::size_t>(bytes));
      best = best < next ? next : best;
    }
    std::memcpy(y + c, &best, static_cast<std::size_t>(bytes));
  };
  Size c = 0;
  for (; c + kChunk <= channels; c += kChunk) fold(c, kChunk);
  if (c < channels) fold(c, channels - c);
}

void LargestBytes(const std::uint8_t* const* taps, Size count, std::uint8_t* y, Size channels,
                  bool is_signed) {
  if (is_signed) return LargestOf<std::int8_t>(taps, count, y, channels);
  LargestOf<std::uint8_t>(taps, count, y, channels);
}

}  // namespace

extern const PoolTable kPools = {LargestTap, MeanTap, LargestRow, RowMean, LargestBytes};

}  // namespace headrace::cpu::HEADRACE_ISA
