// Rows put where indices say, which are read when the kernel runs.
#pragma once

#include <vector>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// What happens to a row on which another one is put.
enum class Scatter { kReplace, kAdd };

// y = x but for y[indices[k, 0], indices[k, 1], ...], which update[k] replaces or is added to, one
// after the other; x, y: T[*lengths, inner], perhaps the same memory; update: T[count, inner];
// indices: [count, lengths.size()]. Throws std::out_of_range at an index that is not in
// [-length, length), and has written nothing then. Only the numbers float, double, std::int32_t and
// std::int64_t are added; what is replaced may be given as any type of its size.
template <class T, class I>
void ScatterNd(Scatter scatter, const T* x, const I* indices, const T* update, T* y,
               const std::vector<Size>& lengths, Size count, Size inner);

}  // namespace headrace::cpu
