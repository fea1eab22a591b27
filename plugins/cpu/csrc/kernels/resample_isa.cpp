#include "activation.h"
#include "resample_table.h"
#include "simd.h"

namespace headrace::cpu::HEADRACE_ISA {
namespace {

void Row(const float* x, Size stride, const std::int32_t* sources, const float* weights, Size taps,
         float* y, Size count) {
  for (Size j = 0; j < count; j += kWidth) {
    const int width = count - j < kWidth ? static_cast<int>(count - j) : kWidth;
    V sum = Broadcast(weights[0]) * LoadSome(x + sources[0] * stride + j, width);
    for (Size k = 1; k < taps; ++k) {
      sum = MulAdd(Broadcast(weights[k]), LoadSome(x + sources[k] * stride + j, width), sum);
    }
    StoreSome(y + j, sum, width);
  }
}

}  // namespace

extern const ResampleTable kResamples = {Row};

}  // namespace headrace::cpu::HEADRACE_ISA
