// What bindings of quantized numbers share: bytes of either sign, and what follows sums of
// products.
#pragma once

#include <optional>

#include "bind_epilogue.h"
#include "kernels/quantized/integer.h"

namespace headrace::cpu::bind {

using Ints = Array<std::int32_t>;
using MaybeInts = std::optional<Ints>;
using MaybeArray = std::optional<AnyArray>;

// The memory of an array of any dtype. Throws TypeError unless it lies row by row.
const void* Data(const char* op, const char* name, const AnyArray& array);

// Throws TypeError for an array of anything else, or that does not lie row by row.
Byte ByteOf(const char* op, const char* name, const AnyArray& array);

// Where a zero point for bytes of this kind lies, of which there may be `most`; null if it is not
// given. Throws TypeError for another kind.
const void* ZeroPoint(const char* op, const char* name, const MaybeArray& zero, Byte item,
                      Size most = 1);

// `_native.Rescale`: how sums become y.
struct RescaleArgs {
  MaybeFloats scale;
  MaybeArray x_zero;
  MaybeInts shift;
  MaybeFloats y_scale;
  MaybeArray y_zero;
  EpilogueArgs epilogue;
};

// What becomes of the sums of all columns, of which y has so many.
ByteEpilogue EpilogueOf(const char* op, const RescaleArgs& args, const AnyArray& y);

}  // namespace headrace::cpu::bind
