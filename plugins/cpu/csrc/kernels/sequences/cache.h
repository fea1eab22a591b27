// Attention over what was seen before. Keys and values lie in caches [batch, heads, length, size];
// before[b] steps of a sequence were there when a call began, and its step i has the place
// before[b] + i.
#pragma once

#include <cstdint>

#include "kernels/sequences/attention.h"

namespace headrace::cpu {

// y = past, then zeros, with the steps of x from before[b] on; behind these all is 0 if it clears.
// `past` may be null, or y itself.
struct CacheWrite {
  Size batch, heads, steps, room, length;
  Size bytes;  // of one step of one head
  const char* x;
  const char* past;
  const std::int64_t* before;
  char* y;
  bool clears;
};

// With all threads. Throws if a step is outside the cache; nothing is written then.
void WriteCache(const CacheWrite& write);

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

// y = x with pairs of its numbers turned, which lie `pairs` apart, or are neighbours.
struct Rotation {
  Size batch, heads, steps, size, pairs;
  bool interleaved;
  const float* x;    // [batch, heads, steps, size]
  const float* cos;  // [batch or 1, steps, pairs], with the step below between batches
  const float* sin;
  Size angles_step;
  float* y;  // may be x
};

// With all threads.
void Rotate(const Rotation& rotation);

struct CacheTable {
  // One step of one head: y = x, turned.
  void (*rotate)(const Rotation& r, const float* x, const float* cos, const float* sin, float* y);
};
HEADRACE_TABLE(CacheTable, CacheRows)

}  // namespace headrace::cpu
