// Recurrent layers with the usual activations, a whole sequence at once.
#pragma once

#include <cstdint>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

struct RecurrentShape {
  Size steps, batch, features, hidden, directions;
};

struct Recurrent {
  RecurrentShape shape;
  const float* x;               // [steps, batch, features]
  const float* w;               // panels: for each direction, of [features, gates * hidden]
  const float* r;               // of [hidden, gates * hidden]; of a GRU, [hidden, hidden] for each
  const float* b;               // [directions, 2 * gates * hidden], or null
  const float* h;               // [directions, batch, hidden], or null: where states begin
  const float* c;               // likewise, of an LSTM
  const std::int32_t* lengths;  // [batch], the steps that each sequence has, or null: all
  float* y;                     // [steps, directions, batch, hidden]
  float* y_h;                   // [directions, batch, hidden], or null
  float* y_c;                   // likewise
  float* scratch;               // as many as the layer's ScratchFloats
  bool reversed[2];             // by direction
  bool linear_before_reset;     // of a GRU
  bool relu;                    // of an RNN, instead of tanh
};

// Floats of the scratch of a layer.
Size LstmScratchFloats(const RecurrentShape& shape);
Size GruScratchFloats(const RecurrentShape& shape);
Size RnnScratchFloats(const RecurrentShape& shape);

// With all threads. Nothing overlaps. What lies beyond a length is 0, and a length of 0 ends in 0.
// Throws std::out_of_range for a length that is not within 0..steps.
void Lstm(const Recurrent& layer);
void Gru(const Recurrent& layer);
void Rnn(const Recurrent& layer);

struct RecurrentTable {
  // Gates i, o, f, c of each row: the new state c, and h.
  void (*lstm)(const float* gates, float* c, float* h, Size batch, Size hidden);
  // z = sigmoid(z), r = sigmoid(r) * h, in gates [batch, 3 * hidden] with the gate z first.
  void (*gru_reset)(float* gates, const float* h, Size batch, Size hidden);
  // With z done and the sum of the new state in the third gate.
  void (*gru_state)(const float* gates, const float* before, float* h, Size batch, Size hidden);
  // All three gates, the product of the third with the state apart and before the reset.
  void (*gru_linear)(const float* drive, const float* products, const float* before, float* h,
                     Size batch, Size hidden);
  // h = f(h) of all.
  void (*tanh)(float* h, Size count);
  void (*relu)(float* h, Size count);
};
HEADRACE_TABLE(RecurrentTable, RecurrentCells)

}  // namespace headrace::cpu
