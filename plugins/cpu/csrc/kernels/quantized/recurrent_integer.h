// The recurrent layer whose products with the state are of bytes.
#pragma once

#include "kernels/quantized/integer.h"

namespace headrace::cpu {

struct IntegerLstm {
  Size steps, batch, hidden;
  const float* drive;  // [steps, batch, 4 * hidden]
  // The weights, [hidden, 4 * hidden] as integer.h packs them.
  const std::int8_t* panels;
  const std::int32_t* sums;   // [4 * hidden]
  const std::int32_t* zeros;  // likewise, as they are packed, or null
  const float* scale;         // likewise if it has a step, or one number
  Size scale_step;
  const float* h;  // [batch, hidden], or null: where states begin
  const float* c;
  float* y;    // [steps, batch, hidden]
  float* y_h;  // [batch, hidden], or null
  float* y_c;
  float* scratch;  // IntegerLstmScratchFloats of them
  bool reversed;
};

Size IntegerLstmScratchFloats(Size batch, Size hidden);

// With all threads. Nothing overlaps.
void Lstm(const IntegerLstm& layer);

}  // namespace headrace::cpu
