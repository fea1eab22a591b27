// Attention: y = softmax(scale * q * k^T + mask) * v, head by head, with scores that stay in cache.
#pragma once

#include "isa.h"

namespace headrace::cpu {

// Matrices of heads in one tensor: how many floats lie between batches, heads and rows.
struct Heads {
  const float* first;
  Size batch_step, head_step, row_step;

  const float* At(Size batch, Size head) const {
    return first + batch * batch_step + head * head_step;
  }
};

struct Attention {
  Size batch, heads, queries, keys, depth, columns;
  Heads q;  // [queries, depth]
  Heads k;  // [keys, depth], or [depth, keys] if it is transposed
  bool k_transposed;
  Heads v;     // [keys, columns]
  Heads mask;  // [queries, keys], or none; a step of 0 repeats
  float* y;    // [queries, columns], with steps as below
  Size y_batch_step, y_head_step, y_row_step;
  float scale;
  bool nan_is_zero;  // a row of scores without a number gives 0
  float* panels;     // room for every k and v, packed: PanelFloats() for each batch and head

  Size PanelFloats() const;
};

// With all threads.
void Attend(const Attention& attention);

struct AttentionTable {
  // Each of `count` rows becomes softmax(row * scale + mask), `stride` floats apart; up to the
  // stride, what lies behind a row is room.
  void (*softmax)(float* rows, Size count, Size length, Size stride, float scale, const float* mask,
                  Size mask_step, bool nan_is_zero);
};
HEADRACE_TABLE(AttentionTable, AttentionRows)

}  // namespace headrace::cpu
