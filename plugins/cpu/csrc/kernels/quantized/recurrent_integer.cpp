#include "kernels/quantized/recurrent_integer.h"

#include <algorithm>
#include <cstring>

#include "kernels/machine/sizes.h"
#include "kernels/quantized/dynamic_quantize.h"
#include "kernels/quantized/integer_conv.h"
#include "kernels/sequences/recurrent.h"

namespace headrace::cpu {
namespace {

Size Rounded(Size floats) { return RoundUp(floats, kPanel); }

std::size_t Bytes(Size floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

void Begin(const float* given, float* state, Size count) {
  if (given == nullptr) {
    std::fill(state, state + count, 0.0f);
  } else {
    std::memcpy(state, given, Bytes(count));
  }
}

}  // namespace

Size IntegerLstmScratchFloats(Size batch, Size hidden) {
  const Size columns = 4 * hidden, state = batch * hidden;
  // Gates, factors, corrections; where states begin and C; H as bytes.
  return Rounded(batch * columns) + Rounded(columns) + Rounded(CorrectionCount(columns)) +
         2 * Rounded(state) + Rounded((state + 3) / 4);
}

void Lstm(const IntegerLstm& layer) {
  const Size hidden = layer.hidden, columns = 4 * hidden, state = layer.batch * hidden;
  float* next = layer.scratch;
  const auto take = [&](Size floats) {
    float* piece = next;
    next += Rounded(floats);
    return piece;
  };
  float* gates = take(layer.batch * columns);
  float* factors = take(columns);
  auto* corrections = reinterpret_cast<std::int32_t*>(take(CorrectionCount(columns)));
  float* begin = take(state);
  float* c = take(state);
  auto* numbers = reinterpret_cast<std::uint8_t*>(take((state + 3) / 4));
  Begin(layer.h, begin, state);
  Begin(layer.c, c, state);
  const Size worths = layer.scale_step == 0 ? 1 : columns;
  float scale = 0;
  std::uint8_t zero = 0;
  ByteProduct product{};
  product.rows = MakeRows(numbers, layer.batch, hidden, Byte::kUint8);
  product.panels = layer.panels;
  product.sums = layer.sums;
  product.weight_zeros = layer.zeros;
  product.x_zero = &zero;
  product.columns = columns;
  product.y = gates;
  product.y_stride = columns;
  product.epilogue.scale = factors;
  product.epilogue.scale_step = layer.scale_step;
  product.epilogue.floats.addend_stride = columns;
  product.epilogue.made = Made::kFloat;
  product.corrections = corrections;
  const float* before = begin;
  for (Size i = 0; i < layer.steps; ++i) {
    const Size t = layer.reversed ? layer.steps - 1 - i : i;
    float* h = layer.y + t * state;
    DynamicQuantize(before, state, numbers, &scale, &zero);
    for (Size k = 0; k < worths; ++k) factors[k] = scale * layer.scale[k];
    product.epilogue.floats.addend = layer.drive + t * layer.batch * columns;
    Multiply(&product, 1);
    RecurrentCells().lstm(gates, c, h, layer.batch, hidden);
    before = h;
  }
  if (layer.y_h != nullptr) std::memcpy(layer.y_h, before, Bytes(state));
  if (layer.y_c != nullptr) std::memcpy(layer.y_c, c, Bytes(state));
}

}  // namespace headrace::cpu
