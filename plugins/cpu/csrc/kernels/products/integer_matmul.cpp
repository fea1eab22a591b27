#include "kernels/products/integer_matmul.h"

#include <algorithm>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Multiplications that are worth a part of their own.
constexpr Size kPartWork = 1 << 15;

// Rows that are multiplied side by side.
constexpr Size kRows = 4;

template <class T>
void Body(const IntegerMatrices& m, const T* a, const T* b, T* y) {
  const IntegerProducts<T>& products = IntegerMatmuls();
  const Size blocks = CeilDiv(m.rows, kRows);
  const Size work = kRows * m.depth * m.columns;
  ParallelFor(blocks, GrainOf(kPartWork, work), [&](Size begin, Size end) {
    products.rows(m, a, b, y, begin * kRows, std::min(end * kRows, m.rows));
  });
}

}  // namespace

void Multiply(const IntegerMatrices& m, const std::int32_t* a, const std::int32_t* b,
              std::int32_t* y) {
  Body(m, a, b, y);
}
void Multiply(const IntegerMatrices& m, const std::int64_t* a, const std::int64_t* b,
              std::int64_t* y) {
  Body(m, a, b, y);
}

}  // namespace headrace::cpu
