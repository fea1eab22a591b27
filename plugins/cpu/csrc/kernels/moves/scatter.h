// Rows and elements put where indices say, which are read when the kernel runs. All throw
// std::out_of_range at an index that is not in [-length, length), and have written nothing then.
#pragma once

#include <vector>

#include "kernels/machine/isa.h"
#include "kernels/moves/element_places.h"

namespace headrace::cpu {

// What happens to an element on which another one is put: that replaces it, is added to it or
// multiplied with it, or the larger or the smaller of the two is left, NaN before all.
enum class Scatter : int { kReplace, kAdd, kMultiply, kMaximum, kMinimum };

// Only the numbers float, double, std::int32_t and std::int64_t are combined; what is replaced may
// be given as any type of its size.

// y = x but for y[indices[k, 0], indices[k, 1], ...], on which update[k] is put, one after the
// other; x, y: T[*axes, inner], perhaps the same memory; update: T[count, inner];
// indices: [count, axes.size()].
template <class T, class I>
void ScatterNd(Scatter scatter, const T* x, const I* indices, const T* update, T* y,
               const std::vector<IndexedAxis>& axes, Size count, Size inner);

// y = x but for the elements that `places` says, on which those of `update`, which are as many as
// indices, are put, one after the other; x, y: T[elements], perhaps the same memory.
template <class T, class I>
void ScatterElements(Scatter scatter, const T* x, const I* indices, const T* update, T* y,
                     const ElementPlaces& places, Size elements);

// y[o, indices[o, i], i] = values[1], all others values[0]; y: T[outer, depth, inner], indices:
// [outer, inner]. An index that is not in [-depth, depth) marks nothing, and throws nothing.
template <class T, class I>
void OneHot(const I* indices, const T* values, T* y, Size outer, Size depth, Size inner);

}  // namespace headrace::cpu
