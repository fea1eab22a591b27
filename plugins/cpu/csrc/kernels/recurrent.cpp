#include "recurrent.h"

#include <algorithm>
#include <cstring>

#include "gemm.h"

namespace headrace::cpu {
namespace {

Size Packed(Size depth, Size columns) { return PanelCount(columns) * kPanel * depth; }

std::size_t Bytes(Size floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

// Hands out pieces of the scratch.
class Pieces {
 public:
  explicit Pieces(float* begin) : next_(begin) {}
  float* Take(Size floats) {
    float* piece = next_;
    next_ += (floats + kPanel - 1) / kPanel * kPanel;
    return piece;
  }

 private:
  float* next_;
};

Size Rounded(Size floats) { return (floats + kPanel - 1) / kPanel * kPanel; }

struct Matrix {
  const float* panels;
  Size depth, columns;
};

// y = x * matrix + bias + addend, rows of y apart by `stride`.
void Times(const float* x, Size x_stride, Size rows, const Matrix& matrix, float* y, Size stride,
           const float* bias, const float* addend, Size addend_stride) {
  const DenseRows source{x, x_stride};
  Epilogue epilogue;
  epilogue.bias = bias;
  epilogue.addend = addend;
  epilogue.addend_stride = addend_stride;
  const Product product{
      MakeRows(&source, rows, matrix.depth), matrix.panels, matrix.columns, y, stride, epilogue};
  Multiply(&product, 1);
}

// A matrix [columns, depth] as products read it.
Matrix PackTransposed(const float* matrix, Size depth, Size columns, Pieces* pieces) {
  float* panels = pieces->Take(Packed(depth, columns));
  Pack(matrix, depth, columns, depth, true, panels);
  return {panels, depth, columns};
}

// The biases of both products; of the second only the first `of_r`.
float* BiasOf(const Recurrent& layer, Size direction, Size columns, Size of_r, Pieces* pieces) {
  float* bias = pieces->Take(columns);
  const float* b = layer.b == nullptr ? nullptr : layer.b + direction * 2 * columns;
  for (Size i = 0; i < columns; ++i) {
    bias[i] = b == nullptr ? 0 : i < of_r ? b[i] + b[columns + i] : b[i];
  }
  return bias;
}

// Calls step(t, h before) for each step in order, then puts down where the states ended.
template <class Step>
void Walk(const Recurrent& layer, Size direction, float* begin, const Step& step) {
  const auto& s = layer.shape;
  const Size state = s.batch * s.hidden;
  if (layer.h == nullptr) {
    std::fill(begin, begin + state, 0.0f);
  } else {
    std::memcpy(begin, layer.h + direction * state, Bytes(state));
  }
  const float* before = begin;
  for (Size i = 0; i < s.steps; ++i) {
    const Size t = layer.reversed[direction] ? s.steps - 1 - i : i;
    float* h = layer.y + (t * s.directions + direction) * state;
    step(t, before, h);
    before = h;
  }
  if (layer.y_h != nullptr) std::memcpy(layer.y_h + direction * state, before, Bytes(state));
}

}  // namespace

Size LstmScratchFloats(const RecurrentShape& s) {
  const Size columns = 4 * s.hidden, state = s.batch * s.hidden;
  return Rounded(Packed(s.features, columns)) + Rounded(Packed(s.hidden, columns)) +
         Rounded(columns) + Rounded(s.steps * s.batch * columns) + Rounded(s.batch * columns) +
         2 * Rounded(state);
}

void Lstm(const Recurrent& layer) {
  const auto& s = layer.shape;
  const Size columns = 4 * s.hidden, state = s.batch * s.hidden;
  for (Size d = 0; d < s.directions; ++d) {
    Pieces pieces(layer.scratch);
    const Matrix w =
        PackTransposed(layer.w + d * columns * s.features, s.features, columns, &pieces);
    const Matrix r = PackTransposed(layer.r + d * columns * s.hidden, s.hidden, columns, &pieces);
    const float* bias = BiasOf(layer, d, columns, columns, &pieces);
    float* drive = pieces.Take(s.steps * s.batch * columns);
    float* gates = pieces.Take(s.batch * columns);
    float* begin = pieces.Take(state);
    float* c = pieces.Take(state);
    Times(layer.x, s.features, s.steps * s.batch, w, drive, columns, bias, nullptr, 0);
    if (layer.c == nullptr) {
      std::fill(c, c + state, 0.0f);
    } else {
      std::memcpy(c, layer.c + d * state, Bytes(state));
    }
    Walk(layer, d, begin, [&](Size t, const float* before, float* h) {
      Times(before, s.hidden, s.batch, r, gates, columns, nullptr, drive + t * s.batch * columns,
            columns);
      RecurrentCells().lstm(gates, c, h, s.batch, s.hidden);
    });
    if (layer.y_c != nullptr) std::memcpy(layer.y_c + d * state, c, Bytes(state));
  }
}

Size GruScratchFloats(const RecurrentShape& s) {
  const Size columns = 3 * s.hidden;
  return Rounded(Packed(s.features, columns)) + Rounded(Packed(s.hidden, columns)) +
         Rounded(Packed(s.hidden, 2 * s.hidden)) + Rounded(Packed(s.hidden, s.hidden)) +
         2 * Rounded(columns) + Rounded(s.steps * s.batch * columns) + Rounded(s.batch * columns) +
         Rounded(s.batch * s.hidden);
}

void Gru(const Recurrent& layer) {
  const auto& s = layer.shape;
  const Size hidden = s.hidden, columns = 3 * hidden;
  for (Size d = 0; d < s.directions; ++d) {
    Pieces pieces(layer.scratch);
    const bool linear = layer.linear_before_reset;
    const float* matrix = layer.r + d * columns * hidden;
    const Matrix w =
        PackTransposed(layer.w + d * columns * s.features, s.features, columns, &pieces);
    const Matrix all = linear ? PackTransposed(matrix, hidden, columns, &pieces) : Matrix{};
    const Matrix gates_r = linear ? Matrix{} : PackTransposed(matrix, hidden, 2 * hidden, &pieces);
    const Matrix fresh_r =
        linear ? Matrix{} : PackTransposed(matrix + 2 * hidden * hidden, hidden, hidden, &pieces);
    const float* bias = BiasOf(layer, d, columns, linear ? 2 * hidden : columns, &pieces);
    float* late = pieces.Take(columns);  // the bias inside the brackets
    std::fill(late, late + columns, 0.0f);
    if (linear && layer.b != nullptr) {
      std::memcpy(late + 2 * hidden, layer.b + d * 2 * columns + 5 * hidden, Bytes(hidden));
    }
    float* drive = pieces.Take(s.steps * s.batch * columns);
    float* gates = pieces.Take(s.batch * columns);
    float* begin = pieces.Take(s.batch * hidden);
    Times(layer.x, s.features, s.steps * s.batch, w, drive, columns, bias, nullptr, 0);
    Walk(layer, d, begin, [&](Size t, const float* before, float* h) {
      float* driven = drive + t * s.batch * columns;
      if (linear) {
        Times(before, hidden, s.batch, all, gates, columns, late, nullptr, 0);
        RecurrentCells().gru_linear(driven, gates, before, h, s.batch, hidden);
        return;
      }
      Times(before, hidden, s.batch, gates_r, gates, columns, nullptr, driven, columns);
      RecurrentCells().gru_reset(gates, before, s.batch, hidden);
      Times(gates + hidden, columns, s.batch, fresh_r, gates + 2 * hidden, columns, nullptr,
            driven + 2 * hidden, columns);
      RecurrentCells().gru_state(gates, before, h, s.batch, hidden);
    });
  }
}

}  // namespace headrace::cpu
