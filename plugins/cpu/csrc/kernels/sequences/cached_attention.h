// Attention over caches; see cache.h for which places of them a step sees.
#pragma once

#include <cstdint>

#include "kernels/sequences/attention.h"

namespace headrace::cpu {

// y = softmax(cap(scale * q * k^T) + bias) * v over the places that each step sees; 0 where it sees
// none. All but the bias lie one after another; queries of heads/shared heads have one k and v.
struct CachedAttention {
  Size batch, heads, shared, steps, length, depth, columns;
  const float* q;              // [batch, heads, steps, depth]
  const float* k;              // [batch, shared, length, depth]
  const float* v;              // [batch, shared, length, columns]
  const std::int64_t* before;  // [batch]
  const std::int64_t* end;     // [batch]: places from there on are not seen; or null
  Heads bias;                  // [steps, length] of each head, or none; a step of 0 repeats
  const float* sink;           // [heads]: one score more, of a value of 0; or null
  float* y;                    // [batch, heads, steps, columns]
  float scale;
  bool causal;    // no place is seen that is later than the step's own
  Size window;    // of those, so many of the last; 0: all
  float cap;      // 0: none
  float* panels;  // room for every k and v, packed: PanelFloats() for each batch and shared head

  Size Rows() const { return heads / shared * steps; }  // queries that have one k and v
  bool HasFewRows() const { return Rows() <= kFewQueries; }
  Size PanelFloats() const;  // none for few rows
};

// With all threads.
void AttendCache(const CachedAttention& attention);

}  // namespace headrace::cpu
