#include "kernels/sequences/attention.h"

#include <algorithm>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"
#include "kernels/products/gemm.h"

namespace headrace::cpu {
namespace {

Size ScoreStride(const Attention& a) { return PanelCount(a.keys) * kPanel; }

float* ScoreRows(const Attention& a, Size count) {
  return static_cast<float*>(
      ThreadScratch(static_cast<std::size_t>(count * ScoreStride(a)) * sizeof(float)));
}

void PackHead(const Attention& a, Size batch, Size head) {
  float* panels = a.panels + (batch * a.heads + head) * a.PanelFloats();
  Pack(a.k.At(batch, head), a.depth, a.keys, a.k.row_step, !a.k_transposed, panels);
  Pack(a.v.At(batch, head), a.keys, a.columns, a.v.row_step, false,
       panels + KeyPanelFloats(a.keys, a.depth));
}

// Some queries of one head.
void AttendRows(const Attention& a, Size batch, Size head, Size begin, Size end, float* scores) {
  const float* panels = a.panels + (batch * a.heads + head) * a.PanelFloats();
  const Size stride = ScoreStride(a), count = end - begin;
  const float* starts[kMostRows];
  const DenseRows queries{a.q.At(batch, head) + begin * a.q.row_step, a.q.row_step};
  const Product first{MakeRows(&queries, count, a.depth), panels, a.keys, scores, stride, {}};
  Gemm().block(first, 0, count, 0, PanelCount(a.keys), starts);
  const float* mask =
      a.mask.first == nullptr ? nullptr : a.mask.At(batch, head) + begin * a.mask.row_step;
  AttentionRows().softmax(scores, count, a.keys, stride, a.scale, mask, a.mask.row_step,
                          a.nan_is_zero, kNoScore);
  const DenseRows weights{scores, stride};
  float* y = a.y + batch * a.y_batch_step + head * a.y_head_step + begin * a.y_row_step;
  const Product second{MakeRows(&weights, count, a.keys),
                       panels + KeyPanelFloats(a.keys, a.depth),
                       a.columns,
                       y,
                       a.y_row_step,
                       {}};
  Gemm().block(second, 0, count, 0, PanelCount(a.columns), starts);
}

// All queries of one head, which are few.
void AttendFew(const Attention& a, Size batch, Size head, float* scores) {
  const Size stride = ScoreStride(a);
  const StridedRows queries{a.q.At(batch, head), a.queries, a.q.row_step};
  const float* k = a.k.At(batch, head);
  if (a.k_transposed) {
    AttentionRows().weigh(queries, {k, a.depth, a.k.row_step}, a.keys, scores, stride);
  } else {
    AttentionRows().dots(queries, {k, a.keys, a.k.row_step}, a.depth, scores, stride);
  }
  const float* mask = a.mask.first == nullptr ? nullptr : a.mask.At(batch, head);
  AttentionRows().softmax(scores, a.queries, a.keys, stride, a.scale, mask, a.mask.row_step,
                          a.nan_is_zero, kNoScore);
  AttentionRows().weigh({scores, a.queries, stride}, {a.v.At(batch, head), a.keys, a.v.row_step},
                        a.columns, a.y + batch * a.y_batch_step + head * a.y_head_step,
                        a.y_row_step);
}

void AttendPacked(const Attention& a) {
  const Size matrices = a.batch * a.heads;
  ParallelFor(matrices, 1, [&](Size begin, Size end) {
    for (Size i = begin; i < end; ++i) PackHead(a, i / a.heads, i % a.heads);
  });
  const Size blocks = CeilDiv(a.queries, kBlockRows);
  ParallelFor(matrices * blocks, 1, [&](Size begin, Size end) {
    float* scores = ScoreRows(a, std::min(kBlockRows, a.queries));
    for (Size i = begin; i < end; ++i) {
      const Size matrix = i / blocks, block = i % blocks;
      AttendRows(a, matrix / a.heads, matrix % a.heads, a.queries * block / blocks,
                 a.queries * (block + 1) / blocks, scores);
    }
  });
}

}  // namespace

Size KeyPanelFloats(Size keys, Size depth) { return PanelCount(keys) * kPanel * depth; }

Size HeadPanelFloats(Size keys, Size depth, Size columns) {
  return KeyPanelFloats(keys, depth) + PanelCount(columns) * kPanel * keys;
}

Size Attention::PanelFloats() const {
  return HasFewQueries() ? 0 : HeadPanelFloats(keys, depth, columns);
}

void Attend(const Attention& a) {
  if (!a.HasFewQueries()) return AttendPacked(a);
  ParallelFor(a.batch * a.heads, 1, [&](Size begin, Size end) {
    float* scores = ScoreRows(a, a.queries);
    for (Size i = begin; i < end; ++i) AttendFew(a, i / a.heads, i % a.heads, scores);
  });
}

}  // namespace headrace::cpu
