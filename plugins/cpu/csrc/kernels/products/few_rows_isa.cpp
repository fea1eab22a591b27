#include "kernels/machine/simd.h"
#include "kernels/products/few_rows.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

// Terms that are summed for themselves, so that long sums keep their digits.
constexpr Size kPiece = 512;

// kVectors vectors of columns, of which the last may have fewer.
template <int kVectors>
HEADRACE_INLINE void Strip(const float* a, const float* b, float* y, Size depth, Size columns,
                           int last) {
  V total[kVectors] = {};
  for (Size piece = 0; piece < depth; piece += kPiece) {
    const Size end = piece + kPiece < depth ? piece + kPiece : depth;
    V sum[kVectors] = {};
    for (Size k = piece; k < end; ++k) {
      const V factor = Broadcast(a[k]);
      const float* row = b + k * columns;
      for (int j = 0; j < kVectors - 1; ++j) {
        sum[j] = MulAdd(factor, Load(row + j * kWidth), sum[j]);
      }
      const V rest = LoadSome(row + (kVectors - 1) * kWidth, last);
      sum[kVectors - 1] = MulAdd(factor, rest, sum[kVectors - 1]);
    }
    for (int j = 0; j < kVectors; ++j) total[j] = total[j] + sum[j];
  }
  for (int j = 0; j < kVectors - 1; ++j) Store(y + j * kWidth, total[j]);
  StoreSome(y + (kVectors - 1) * kWidth, total[kVectors - 1], last);
}

void Plain(const float* a, const float* b, float* y, Size rows, Size depth, Size columns,
           Size count) {
  constexpr Size kFull = 4 * kWidth;
  for (Size row = 0; row < rows; ++row, a += depth, y += columns) {
    Size at = 0;
    for (; at + kFull <= count; at += kFull) {
      Strip<4>(a, b + at, y + at, depth, columns, kWidth);
    }
    for (; at < count; at += kWidth) {
      Strip<1>(a, b + at, y + at, depth, columns, VectorCount(count - at));
    }
  }
}

HEADRACE_INLINE float Dot(const float* a, const float* b, Size depth) {
  constexpr Size kSums = 4;
  float total = 0;
  for (Size piece = 0; piece < depth; piece += kPiece) {
    const Size end = piece + kPiece < depth ? piece + kPiece : depth;
    V sums[kSums] = {};
    Size k = piece;
    for (; k + kSums * kWidth <= end; k += kSums * kWidth) {
      for (Size j = 0; j < kSums; ++j) {
        sums[j] = MulAdd(Load(a + k + j * kWidth), Load(b + k + j * kWidth), sums[j]);
      }
    }
    for (; k < end; k += kWidth) {
      const int left = VectorCount(end - k);
      sums[0] = MulAdd(LoadSome(a + k, left), LoadSome(b + k, left), sums[0]);
    }
    total += Sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  }
  return total;
}

void Transposed(const float* a, const float* b, float* y, Size rows, Size depth, Size columns,
                Size count) {
  for (Size row = 0; row < rows; ++row, a += depth, y += columns) {
    for (Size j = 0; j < count; ++j) y[j] = Dot(a, b + j * depth, depth);
  }
}

}  // namespace

extern const FewRowTable kFewRowKernels = {Plain, Transposed};

}  // namespace headrace::cpu::HEADRACE_ISA
