// What follows sums of bytes, on vectors; see `ByteEpilogue` in integer.h.
#pragma once

#include "kernels/machine/quantize.h"
#include "kernels/products/activation.h"
#include "kernels/quantized/integer.h"

namespace headrace::cpu::HEADRACE_ISA {

// The floats of sixteen sums from `column` on, of which `columns` are there; `addend` is theirs, or
// none.
template <class A>
HEADRACE_INLINE V FloatsOf(const ByteEpilogue& epilogue, VI sum, Size column, const float* addend,
                           int columns, A activate) {
  const Epilogue& floats = epilogue.floats;
  const V scale = epilogue.scale_step == 0 ? Broadcast(*epilogue.scale)
                                           : LoadSome(epilogue.scale + column, columns);
  V v = ToFloats(sum) * scale;
  if (floats.bias != nullptr) v = v + LoadSome(floats.bias + column, columns);
  if (addend != nullptr && !floats.addend_last) v = v + LoadSome(addend, columns);
  v = activate(v);
  if (addend != nullptr && floats.addend_last) v = v + LoadSome(addend, columns);
  return v;
}

// The first `columns` of sixteen integers.
HEADRACE_INLINE void StoreSome(std::int32_t* p, VI v, int columns) {
  if (columns >= kPanel) return StoreInt(p, v);
  std::int32_t all[kPanel];
  StoreInt(all, v);
  for (int i = 0; i < columns; ++i) p[i] = all[i];
}

}  // namespace headrace::cpu::HEADRACE_ISA
