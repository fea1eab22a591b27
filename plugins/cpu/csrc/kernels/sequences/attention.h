// Attention: y = softmax(scale * q * k^T + mask) * v, head by head, with scores that stay in cache.
#pragma once

#include <limits>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// Matrices of heads in one tensor: how many floats lie between batches, heads and rows.
struct Heads {
  const float* first;
  Size batch_step, head_step, row_step;

  const float* At(Size batch, Size head) const {
    return first + batch * batch_step + head * head_step;
  }
};

// A score of which softmax makes 0.
constexpr float kNoScore = -std::numeric_limits<float>::infinity();

// So few queries read keys and values where they lie: packing them takes longer than the products.
constexpr Size kFewQueries = 8;

// Floats of the panels of a head: of k [keys, depth], and of these and v [keys, columns] behind
// them.
Size KeyPanelFloats(Size keys, Size depth);
Size HeadPanelFloats(Size keys, Size depth, Size columns);

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

  bool HasFewQueries() const { return queries <= kFewQueries; }
  Size PanelFloats() const;  // none for few queries
};

// With all threads.
void Attend(const Attention& attention);

struct StridedRows {
  const float* first;
  Size count, step;
};

struct AttentionTable {
  // Each of `count` rows becomes softmax(row * scale + mask), `stride` floats apart; up to a whole
  // vector, what lies behind a row is room. `sink` is one score more, whose share nobody gets;
  // -infinity is none.
  void (*softmax)(float* rows, Size count, Size length, Size stride, float scale, const float* mask,
                  Size mask_step, bool nan_is_zero, float sink);
  // row = tanh(row * scale) * cap; behind it there is room as above.
  void (*bend)(float* row, Size length, float scale, float cap);
  // Row r of y: the products of row r of a with each row of b, all `length` floats, each summed up.
  void (*dots)(const StridedRows& a, const StridedRows& b, Size length, float* y, Size y_step);
  // Row r of y: the rows of b, `columns` floats each, times the numbers in row r of a, added up.
  void (*weigh)(const StridedRows& a, const StridedRows& b, Size columns, float* y, Size y_step);
};
HEADRACE_TABLE(AttentionTable, AttentionRows)

}  // namespace headrace::cpu
