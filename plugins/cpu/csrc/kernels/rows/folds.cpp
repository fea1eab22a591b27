#include "kernels/rows/folds.h"

#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

constexpr Size kPartElements = 1 << 15;  // of x that are worth a part of their own

}  // namespace

template <class T>
void FoldAxis(Fold fold, const T* x, T* y, Size outer, Size length, Size inner) {
  const AxisFolds<T>& loops = AxisFoldLoops();
  if (outer == 1 && inner > 1) {  // columns by themselves: each is folded in one order
    const Size grain = GrainOf(kPartElements, length);
    return ParallelFor(inner, grain, [&](Size begin, Size end) {
      loops.fold(fold, x + begin, y + begin, length, inner, end - begin);
    });
  }
  const Size grain = GrainOf(kPartElements, length * inner);
  ParallelFor(outer, grain, [&](Size begin, Size end) {
    for (Size o = begin; o < end; ++o) {
      loops.fold(fold, x + o * length * inner, y + o * inner, length, inner, inner);
    }
  });
}

template void FoldAxis(Fold, const float*, float*, Size, Size, Size);
template void FoldAxis(Fold, const double*, double*, Size, Size, Size);
template void FoldAxis(Fold, const std::int32_t*, std::int32_t*, Size, Size, Size);
template void FoldAxis(Fold, const std::int64_t*, std::int64_t*, Size, Size, Size);
template void FoldAxis(Fold, const std::int8_t*, std::int8_t*, Size, Size, Size);
template void FoldAxis(Fold, const std::uint8_t*, std::uint8_t*, Size, Size, Size);

}  // namespace headrace::cpu
