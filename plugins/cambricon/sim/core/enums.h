// Enumerators of the vendor that callers may ask for by name.
#pragma once

#include <string>

namespace mlusim {

void PublishEnum(const std::string& name, int value);

}  // namespace mlusim
