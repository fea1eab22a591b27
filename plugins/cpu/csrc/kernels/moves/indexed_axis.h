// An axis along which indices say positions, some of them from its end.
#pragma once

#include <stdexcept>
#include <string>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

struct IndexedAxis {
  Size length;
  Size number;  // of the tensor that it is an axis of, for who reads the error

  bool Has(Size index) const { return index >= -length && index < length; }

  // The position that an index is for which `Has` holds.
  Size Position(Size index) const { return index + (index < 0 ? length : 0); }

  // The same of any index; throws std::out_of_range where that is outside.
  Size At(Size index) const {
    if (!Has(index)) Fail(index);
    return Position(index);
  }

  [[noreturn]] void Fail(Size index) const {
    throw std::out_of_range("index " + std::to_string(index) + " is outside axis " +
                            std::to_string(number) + ", which has " + std::to_string(length) +
                            " elements");
  }
};

}  // namespace headrace::cpu
