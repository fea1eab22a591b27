#include "kernels/sequences/cached_attention.h"

#include <algorithm>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"
#include "kernels/products/gemm.h"

namespace headrace::cpu {
namespace {

// Wider ones are no wider than every cache either.
constexpr Size kWidestWindow = Size{1} << 60;

// Places from the first to before the last.
struct Range {
  Size first, last;
};

Range SeenBy(const CachedAttention& a, Size batch, Size step) {
  Size first = 0, last = a.length;
  if (a.end != nullptr) last = std::min<Size>(last, a.end[batch]);
  if (a.causal) {
    // Far outside they are as good as just outside, and sums of them do not overflow.
    const Size window = std::min(a.window, kWidestWindow);
    const Size before = std::clamp<Size>(a.before[batch], -a.steps - 1, a.length + window);
    last = std::min(last, before + step + 1);
    if (window > 0) first = std::max<Size>(first, before + step + 1 - window);
  }
  last = std::max<Size>(last, 0);
  return {std::min(first, last), last};
}

// The places that some step of the batch sees: ranges go up with the steps.
Range SeenByAny(const CachedAttention& a, Size batch) {
  if (a.steps == 0) return {0, 0};
  return {SeenBy(a, batch, 0).first, SeenBy(a, batch, a.steps - 1).last};
}

// A row of scores may begin at any place of it: a vector more is room for what is behind its end.
Size ScoreStride(const CachedAttention& a) { return (PanelCount(a.length) + 1) * kPanel; }

float* ScoreRows(const CachedAttention& a, Size count) {
  return static_cast<float*>(
      ThreadScratch(static_cast<std::size_t>(count * ScoreStride(a)) * sizeof(float)));
}

// Products of the rows from `begin` on, of one batch and shared head, with the keys of `seen`,
// become shares of the values. Row r is that of head r / steps and step r % steps.
void Share(const CachedAttention& a, Size batch, Size shared, Size begin, Size count, Range seen,
           float* scores) {
  const Size stride = ScoreStride(a), group = a.heads / a.shared;
  for (Size r = 0; r < count; ++r, scores += stride) {
    const Size head = shared * group + (begin + r) / a.steps, step = (begin + r) % a.steps;
    const Range own = SeenBy(a, batch, step);
    float* first = scores + (own.first - seen.first);
    const Size length = own.last - own.first;
    if (length > 0) {
      if (a.cap != 0.0f) AttentionRows().bend(first, length, a.scale / a.cap, a.cap);
      const float* bias = a.bias.first == nullptr
                              ? nullptr
                              : a.bias.At(batch, head) + step * a.bias.row_step + own.first;
      const float sink = a.sink == nullptr ? kNoScore : a.sink[head];
      AttentionRows().softmax(first, 1, length, stride, a.cap != 0.0f ? 1.0f : a.scale, bias, 0,
                              false, sink);
    }
    // Softmax writes behind the end as well.
    std::fill(scores, first, 0.0f);
    std::fill(first + length, scores + (seen.last - seen.first), 0.0f);
  }
}

void AttendFew(const CachedAttention& a, Size batch, Size shared, float* scores) {
  const Range seen = SeenByAny(a, batch);
  const Size rows = a.Rows(), stride = ScoreStride(a), count = seen.last - seen.first;
  const Size matrix = batch * a.shared + shared;
  const float* k = a.k + (matrix * a.length + seen.first) * a.depth;
  const float* v = a.v + (matrix * a.length + seen.first) * a.columns;
  float* y = a.y + matrix * rows * a.columns;
  AttentionRows().dots({a.q + matrix * rows * a.depth, rows, a.depth}, {k, count, a.depth}, a.depth,
                       scores, stride);
  Share(a, batch, shared, 0, rows, seen, scores);
  AttentionRows().weigh({scores, rows, stride}, {v, count, a.columns}, a.columns, y, a.columns);
}

void PackHead(const CachedAttention& a, Size matrix) {
  const Range seen = SeenByAny(a, matrix / a.shared);
  const Size count = seen.last - seen.first;
  float* panels = a.panels + matrix * a.PanelFloats();
  Pack(a.k + (matrix * a.length + seen.first) * a.depth, a.depth, count, a.depth, true, panels);
  Pack(a.v + (matrix * a.length + seen.first) * a.columns, count, a.columns, a.columns, false,
       panels + KeyPanelFloats(a.length, a.depth));
}

void AttendRows(const CachedAttention& a, Size matrix, Size begin, Size end, float* scores) {
  const Size batch = matrix / a.shared, stride = ScoreStride(a), rows = end - begin;
  const Range seen = SeenByAny(a, batch);
  const Size count = seen.last - seen.first, first = matrix * a.Rows() + begin;
  if (count == 0) {
    std::fill_n(a.y + first * a.columns, rows * a.columns, 0.0f);
    return;
  }
  const float* panels = a.panels + matrix * a.PanelFloats();
  const float* starts[kMostRows];
  const DenseRows queries{a.q + first * a.depth, a.depth};
  const Product scored{MakeRows(&queries, rows, a.depth), panels, count, scores, stride, {}};
  Gemm().block(scored, 0, rows, 0, PanelCount(count), starts);
  Share(a, batch, matrix % a.shared, begin, rows, seen, scores);
  const DenseRows shares{scores, stride};
  const Product weighed{MakeRows(&shares, rows, count),
                        panels + KeyPanelFloats(a.length, a.depth),
                        a.columns,
                        a.y + first * a.columns,
                        a.columns,
                        {}};
  Gemm().block(weighed, 0, rows, 0, PanelCount(a.columns), starts);
}

void AttendPacked(const CachedAttention& a) {
  const Size matrices = a.batch * a.shared;
  ParallelFor(matrices, 1, [&](Size begin, Size end) {
    for (Size matrix = begin; matrix < end; ++matrix) PackHead(a, matrix);
  });
  const Size rows = a.Rows(), blocks = CeilDiv(rows, kBlockRows);
  ParallelFor(matrices * blocks, 1, [&](Size begin, Size end) {
    float* scores = ScoreRows(a, std::min(kBlockRows, rows));
    for (Size i = begin; i < end; ++i) {
      const Size block = i % blocks;
      AttendRows(a, i / blocks, rows * block / blocks, rows * (block + 1) / blocks, scores);
    }
  });
}

}  // namespace

Size CachedAttention::PanelFloats() const {
  return HasFewRows() ? 0 : HeadPanelFloats(length, depth, columns);
}

void AttendCache(const CachedAttention& a) {
  if (!a.HasFewRows()) return AttendPacked(a);
  ParallelFor(a.batch * a.shared, 1, [&](Size begin, Size end) {
    float* scores = ScoreRows(a, a.Rows());
    for (Size i = begin; i < end; ++i) AttendFew(a, i / a.shared, i % a.shared, scores);
  });
}

}  // namespace headrace::cpu
