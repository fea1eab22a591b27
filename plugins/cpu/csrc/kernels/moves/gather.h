// Elements chosen by indices that are read when the kernel runs; of any dtype.
#pragma once

#include <vector>

#include "kernels/machine/isa.h"
#include "kernels/moves/element_places.h"

namespace headrace::cpu {

// All with all threads, and all throw std::out_of_range at an index that is not in
// [-length, length). The two sides do not overlap. I: std::int32_t or std::int64_t.

// y[o, k] = x[o, indices[k]], of `bytes` each; x: [outer, axis], y: [outer, count].
template <class I>
void Gather(const char* x, const I* indices, char* y, Size outer, IndexedAxis axis, Size count,
            Size bytes);

// y[o, k, i] = x[o, indices[o, k, i], i], of `item` bytes each: 1, 2, 4, 8 or 16;
// x: [outer, axis, inner], y: [outer, count, inner].
template <class I>
void GatherElements(const char* x, const I* indices, char* y, Size outer, IndexedAxis axis,
                    Size count, Size inner, Size item);

// The same where indices may be shorter than x along every axis, as `places` says; y: that of the
// indices. `item` bytes each: 1, 2, 4, 8 or 16.
template <class I>
void GatherElements(const char* x, const I* indices, char* y, const ElementPlaces& places,
                    Size item);

// y[o, k] = x[o, indices[o, k, 0], indices[o, k, 1], ...], of `bytes` each;
// x: [outer, *axes], y: [outer, count], indices: [outer, count, axes.size()].
template <class I>
void GatherNd(const char* x, const I* indices, char* y, Size outer, Size count,
              const std::vector<IndexedAxis>& axes, Size bytes);

}  // namespace headrace::cpu
