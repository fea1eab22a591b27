#include "kernels/quantized/recurrent_integer.h"

#include <algorithm>
#include <cstring>

#include "kernels/machine/scratch.h"
#include "kernels/quantized/dynamic_quantize.h"
#include "kernels/quantized/integer_conv.h"
#include "kernels/sequences/recurrent.h"

namespace headrace::cpu {
namespace {

std::size_t Bytes(Size floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

void Begin(const float* given, float* state, Size count) {
  if (given == nullptr) {
    std::fill(state, state + count, 0.0f);
  } else {
    std::memcpy(state, given, Bytes(count));
  }
}

struct Scratch {
  Scratch(Size batch, Size hidden, float* first)
      : pieces(first),
        gates(pieces.Take(batch * 4 * hidden)),
        factors(pieces.Take(4 * hidden)),
        corrections(pieces.TakeAs<std::int32_t>(CorrectionCount(4 * hidden))),
        begin(pieces.Take(batch * hidden)),
        c(pieces.Take(batch * hidden)),
        h(pieces.TakeAs<std::uint8_t>(batch * hidden)) {}

  ScratchPieces pieces;
  float *gates, *factors;
  std::int32_t* corrections;
  float *begin, *c;
  std::uint8_t* h;  // the state before a step, as bytes
};

}  // namespace

Size IntegerLstmScratchFloats(Size batch, Size hidden) {
  return Scratch(batch, hidden, nullptr).pieces.floats();
}

void Lstm(const IntegerLstm& layer) {
  const Size hidden = layer.hidden, columns = 4 * hidden, state = layer.batch * hidden;
  const Scratch own(layer.batch, hidden, layer.scratch);
  Begin(layer.h, own.begin, state);
  Begin(layer.c, own.c, state);
  const Size scales = layer.scale_step == 0 ? 1 : columns;
  float scale = 0;
  std::uint8_t zero = 0;
  ByteProduct product{};
  product.rows = MakeRows(own.h, layer.batch, hidden, Byte::kUint8);
  product.panels = layer.panels;
  product.sums = layer.sums;
  product.weight_zeros = layer.zeros;
  product.x_zero = &zero;
  product.columns = columns;
  product.y = own.gates;
  product.y_stride = columns;
  product.epilogue.scale = own.factors;
  product.epilogue.scale_step = layer.scale_step;
  product.epilogue.floats.addend_stride = columns;
  product.epilogue.made = Made::kFloat;
  product.corrections = own.corrections;
  const float* before = own.begin;
  for (Size i = 0; i < layer.steps; ++i) {
    const Size t = layer.reversed ? layer.steps - 1 - i : i;
    float* h = layer.y + t * state;
    DynamicQuantize(before, state, own.h, &scale, &zero);
    for (Size k = 0; k < scales; ++k) own.factors[k] = scale * layer.scale[k];
    product.epilogue.floats.addend = layer.drive + t * layer.batch * columns;
    Multiply(&product, 1);
    RecurrentCells().lstm(own.gates, own.c, h, layer.batch, hidden);
    before = h;
  }
  if (layer.y_h != nullptr) std::memcpy(layer.y_h, before, Bytes(state));
  if (layer.y_c != nullptr) std::memcpy(layer.y_c, own.c, Bytes(state));
}

}  // namespace headrace::cpu
