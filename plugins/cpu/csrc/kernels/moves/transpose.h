// Matrices of elements of any dtype, turned: the blocks of which `strided_copy.h` makes a
// permutation.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// `rows` elements that follow each other in `from` go `to_step` bytes apart; `columns` that are
// `from_step` bytes apart follow each other in `to`. Elements of 1, 2, 4, 8 or 16 bytes; steps may
// be anything. The two sides do not overlap, and nothing else of `to` is written, even for a
// moment.
void Transpose(const char* from, Size from_step, char* to, Size to_step, Size rows, Size columns,
               Size item);

}  // namespace headrace::cpu
