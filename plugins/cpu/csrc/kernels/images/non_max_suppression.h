// Boxes that are chosen among many: the best of each class that no better one overlaps; float32.
#pragma once

#include <cstdint>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// As the op `non_max_suppression` has it.
struct NonMaxSuppression {
  Size batch, classes, boxes, most;
  float overlap;    // more than this part of what two boxes cover together
  float least;      // a score must be greater, unless this is -inf
  bool is_centred;  // boxes are x, y, width, height instead of two corners
};

// boxes: [batch, boxes, 4], scores: [batch, classes, boxes]; chosen: [batch, classes, most], -1
// where none is; counts: [batch, classes]. With all threads, each class by one; needs no more
// memory than their scratch.
void Suppress(const NonMaxSuppression& s, const float* boxes, const float* scores,
              std::int32_t* chosen, std::int32_t* counts);

// Corners and areas of boxes, coordinate by coordinate; each begins at a multiple of `room`.
struct BoxColumns {
  float* first;
  Size room;
  float* operator[](int column) const { return first + column * room; }
};

struct NonMaxSuppressionTable {
  // Where scores are greater than `least`, one after another; returns how many. `at` has room for
  // `count`.
  Size (*above)(const float* scores, Size count, float least, std::uint32_t* at);
  // Whether one of the first `count` boxes shares more with `box` (top, left, bottom, right, area)
  // than `overlap` of what both cover.
  bool (*overlaps)(const BoxColumns& boxes, Size count, const float* box, float overlap);
};
HEADRACE_TABLE(NonMaxSuppressionTable, NonMaxSuppressions)

}  // namespace headrace::cpu
