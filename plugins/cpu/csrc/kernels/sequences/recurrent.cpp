#include "kernels/sequences/recurrent.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/machine/scratch.h"
#include "kernels/products/gemm.h"

namespace headrace::cpu {
namespace {

Size Packed(Size depth, Size columns) { return PanelCount(columns) * kPanel * depth; }

std::size_t Bytes(Size floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

// Rows of matrices, one after another, times [depth, columns] each: y = x * matrix + bias + addend.
struct Times {
  const float* x;
  Size x_stride, rows, depth, columns;
  const float* panels;  // of the first matrix; the others follow
  float* y;             // of the first matrix; the others' columns follow in each row
  Size y_stride;
  const float* bias;    // of all columns, or null
  const float* addend;  // likewise, rows apart by `addend_stride`
  Size addend_stride;
};

void Multiply(const Times& times, Size matrices) {
  const DenseRows source{times.x, times.x_stride};
  Product products[3];
  for (Size i = 0; i < matrices; ++i) {
    const Size first = i * times.columns;
    Epilogue epilogue;
    epilogue.bias = times.bias == nullptr ? nullptr : times.bias + first;
    epilogue.addend = times.addend == nullptr ? nullptr : times.addend + first;
    epilogue.addend_stride = times.addend_stride;
    products[i] = {MakeRows(&source, times.rows, times.depth),
                   times.panels + i * Packed(times.depth, times.columns),
                   times.columns,
                   times.y + first,
                   times.y_stride,
                   epilogue};
  }
  Multiply(products, matrices);
}

// What x brings to the gates of all steps.
void Drive(const Recurrent& layer, Size direction, Size columns, const float* bias, float* drive) {
  const auto& s = layer.shape;
  const float* panels = layer.w + direction * Packed(s.features, columns);
  Multiply({layer.x, s.features, s.steps * s.batch, s.features, columns, panels, drive, columns,
            bias, nullptr, 0},
           1);
}

// The biases of both products; of the second only the first `of_r`.
void FillBias(const Recurrent& layer, Size direction, Size columns, Size of_r, float* bias) {
  const float* b = layer.b == nullptr ? nullptr : layer.b + direction * 2 * columns;
  for (Size i = 0; i < columns; ++i) {
    bias[i] = b == nullptr ? 0 : i < of_r ? b[i] + b[columns + i] : b[i];
  }
}

// Where the states of one direction begin: as they are given, or at 0.
void Begin(const float* given, Size direction, Size count, float* state) {
  if (given == nullptr) {
    std::fill_n(state, count, 0.0f);
  } else {
    std::memcpy(state, given + direction * count, Bytes(count));
  }
}

bool HasStep(const Recurrent& layer, Size row, Size t) {
  return layer.lengths == nullptr || t < layer.lengths[row];
}

// How many steps the longest sequence has.
Size Longest(const Recurrent& layer) {
  const auto& s = layer.shape;
  if (layer.lengths == nullptr) return s.steps;
  Size longest = 0;
  for (Size row = 0; row < s.batch; ++row) {
    const Size length = layer.lengths[row];
    if (length < 0 || length > s.steps) {
      throw std::out_of_range("sequence_lens has " + std::to_string(length) + "; x has " +
                              std::to_string(s.steps) + " steps");
    }
    longest = std::max(longest, length);
  }
  return longest;
}

// Calls f(first, count) for the rows that have a step `t`, those beside each other at once.
template <class F>
void ForRows(const Recurrent& layer, Size t, const F& f) {
  Size row = 0;
  while (row < layer.shape.batch) {
    const Size first = row;
    while (row < layer.shape.batch && HasStep(layer, row, t)) ++row;
    if (row > first) f(first, row - first);
    while (row < layer.shape.batch && !HasStep(layer, row, t)) ++row;
  }
}

// Puts down where the states of one direction ended.
void End(const Recurrent& layer, Size direction, const float* state, float* ends) {
  if (ends == nullptr) return;
  const auto& s = layer.shape;
  float* end = ends + direction * s.batch * s.hidden;
  std::memcpy(end, state, Bytes(s.batch * s.hidden));
  for (Size row = 0; row < s.batch; ++row) {
    if (!HasStep(layer, row, 0)) std::fill_n(end + row * s.hidden, s.hidden, 0.0f);
  }
}

// Keeps the new h of the sequences that have step `t` as what comes before their next one, and
// clears that of the others.
void Keep(const Recurrent& layer, Size t, float* h, float* before) {
  const Size hidden = layer.shape.hidden;
  for (Size row = 0; row < layer.shape.batch; ++row, h += hidden, before += hidden) {
    if (HasStep(layer, row, t)) {
      std::memcpy(before, h, Bytes(hidden));
    } else {
      std::fill_n(h, hidden, 0.0f);
    }
  }
}

// Calls step(t, h before, h) for each step in order, then puts down where the states ended.
template <class Step>
void Walk(const Recurrent& layer, Size direction, float* begin, const Step& step) {
  const auto& s = layer.shape;
  const Size state = s.batch * s.hidden, longest = Longest(layer);
  Begin(layer.h, direction, state, begin);
  const float* before = begin;
  for (Size i = 0; i < s.steps; ++i) {
    const Size t = layer.reversed[direction] ? s.steps - 1 - i : i;
    float* h = layer.y + (t * s.directions + direction) * state;
    if (t < longest) step(t, before, h);
    if (layer.lengths == nullptr) {
      before = h;
    } else {
      Keep(layer, t, h, begin);
    }
  }
  End(layer, direction, before, layer.y_h);
}

// The scratch of each kind of layer, for one direction after the other.
struct LstmScratch {
  LstmScratch(const RecurrentShape& s, float* first)
      : pieces(first),
        bias(pieces.Take(4 * s.hidden)),
        drive(pieces.Take(s.steps * s.batch * 4 * s.hidden)),
        gates(pieces.Take(s.batch * 4 * s.hidden)),
        begin(pieces.Take(s.batch * s.hidden)),
        c(pieces.Take(s.batch * s.hidden)) {}

  ScratchPieces pieces;
  float *bias, *drive, *gates, *begin, *c;
};

struct GruScratch {
  GruScratch(const RecurrentShape& s, float* first)
      : pieces(first),
        bias(pieces.Take(3 * s.hidden)),
        late(pieces.Take(3 * s.hidden)),
        drive(pieces.Take(s.steps * s.batch * 3 * s.hidden)),
        gates(pieces.Take(s.batch * 3 * s.hidden)),
        begin(pieces.Take(s.batch * s.hidden)) {}

  ScratchPieces pieces;
  float* bias;
  float* late;  // the bias inside the brackets
  float *drive, *gates, *begin;
};

struct RnnScratch {
  RnnScratch(const RecurrentShape& s, float* first)
      : pieces(first),
        bias(pieces.Take(s.hidden)),
        drive(pieces.Take(s.steps * s.batch * s.hidden)),
        begin(pieces.Take(s.batch * s.hidden)) {}

  ScratchPieces pieces;
  float *bias, *drive, *begin;
};

}  // namespace

Size LstmScratchFloats(const RecurrentShape& shape) {
  return LstmScratch(shape, nullptr).pieces.floats();
}

void Lstm(const Recurrent& layer) {
  const auto& s = layer.shape;
  const Size columns = 4 * s.hidden;
  const LstmScratch own(s, layer.scratch);
  for (Size d = 0; d < s.directions; ++d) {
    FillBias(layer, d, columns, columns, own.bias);
    Drive(layer, d, columns, own.bias, own.drive);
    Begin(layer.c, d, s.batch * s.hidden, own.c);
    const float* panels = layer.r + d * Packed(s.hidden, columns);
    Walk(layer, d, own.begin, [&](Size t, const float* before, float* h) {
      Multiply({before, s.hidden, s.batch, s.hidden, columns, panels, own.gates, columns, nullptr,
                own.drive + t * s.batch * columns, columns},
               1);
      ForRows(layer, t, [&](Size first, Size count) {
        const Size at = first * s.hidden;
        RecurrentCells().lstm(own.gates + 4 * at, own.c + at, h + at, count, s.hidden);
      });
    });
    End(layer, d, own.c, layer.y_c);
  }
}

Size GruScratchFloats(const RecurrentShape& shape) {
  return GruScratch(shape, nullptr).pieces.floats();
}

void Gru(const Recurrent& layer) {
  const auto& s = layer.shape;
  const Size hidden = s.hidden, columns = 3 * hidden, gate = Packed(hidden, hidden);
  const bool linear = layer.linear_before_reset;
  const GruScratch own(s, layer.scratch);
  float* gates = own.gates;
  for (Size d = 0; d < s.directions; ++d) {
    const float* panels = layer.r + d * 3 * gate;
    FillBias(layer, d, columns, linear ? 2 * hidden : columns, own.bias);
    std::fill_n(own.late, columns, 0.0f);
    if (linear && layer.b != nullptr) {
      std::memcpy(own.late + 2 * hidden, layer.b + d * 2 * columns + 5 * hidden, Bytes(hidden));
    }
    Drive(layer, d, columns, own.bias, own.drive);
    Walk(layer, d, own.begin, [&](Size t, const float* before, float* h) {
      float* driven = own.drive + t * s.batch * columns;
      Times times{before, hidden,  s.batch, hidden, hidden, panels,
                  gates,  columns, nullptr, driven, columns};
      if (linear) {
        times.bias = own.late;
        times.addend = nullptr;
        Multiply(times, 3);
        RecurrentCells().gru_linear(driven, gates, before, h, s.batch, hidden);
        return;
      }
      Multiply(times, 2);
      RecurrentCells().gru_reset(gates, before, s.batch, hidden);
      times.x = gates + hidden;
      times.x_stride = columns;
      times.panels = panels + 2 * gate;
      times.y = gates + 2 * hidden;
      times.addend = driven + 2 * hidden;
      Multiply(times, 1);
      RecurrentCells().gru_state(gates, before, h, s.batch, hidden);
    });
  }
}

Size RnnScratchFloats(const RecurrentShape& shape) {
  return RnnScratch(shape, nullptr).pieces.floats();
}

void Rnn(const Recurrent& layer) {
  const auto& s = layer.shape;
  const Size hidden = s.hidden, state = s.batch * hidden;
  const auto activate = layer.relu ? RecurrentCells().relu : RecurrentCells().tanh;
  const RnnScratch own(s, layer.scratch);
  for (Size d = 0; d < s.directions; ++d) {
    FillBias(layer, d, hidden, hidden, own.bias);
    Drive(layer, d, hidden, own.bias, own.drive);
    const float* panels = layer.r + d * Packed(hidden, hidden);
    Walk(layer, d, own.begin, [&](Size t, const float* before, float* h) {
      Multiply({before, hidden, s.batch, hidden, hidden, panels, h, hidden, nullptr,
                own.drive + t * state, hidden},
               1);
      activate(h, state);
    });
  }
}

}  // namespace headrace::cpu
