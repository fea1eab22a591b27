#include "kernels/elementwise/arange.h"

#include <type_traits>

#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

constexpr Size kPartElements = 1 << 15;  // worth a part of their own

template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

}  // namespace

template <class T>
void Arange(const T* start, const T* step, T* y, Size count) {
  const auto first = static_cast<Wide<T>>(*start), by = static_cast<Wide<T>>(*step);
  ParallelFor(count, kPartElements, [=](Size begin, Size end) {
    for (Size i = begin; i < end; ++i) y[i] = static_cast<T>(first + static_cast<Wide<T>>(i) * by);
  });
}

template void Arange(const float*, const float*, float*, Size);
template void Arange(const double*, const double*, double*, Size);
template void Arange(const std::int32_t*, const std::int32_t*, std::int32_t*, Size);
template void Arange(const std::int64_t*, const std::int64_t*, std::int64_t*, Size);

}  // namespace headrace::cpu
