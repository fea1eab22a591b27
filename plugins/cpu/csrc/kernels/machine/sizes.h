// Sizes that are cut into parts.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// How many parts of `part` cover `count`; the last one may be smaller.
HEADRACE_INLINE constexpr Size CeilDiv(Size count, Size part) { return (count + part - 1) / part; }

// `count`, or the next multiple.
HEADRACE_INLINE constexpr Size RoundUp(Size count, Size multiple) {
  return CeilDiv(count, multiple) * multiple;
}

}  // namespace headrace::cpu
