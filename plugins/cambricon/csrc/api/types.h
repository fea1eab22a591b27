// The vendor's types as far as its C interface shows them: opaque pointers, and enums of 4 bytes,
// which are passed as int.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace::cambricon {

using cnrtQueue_t = struct cnrtQueue*;
using cnrtNotifier_t = struct cnrtNotifier*;
using cnrtDev_t = std::uint64_t;  // of the eras 4 and 5: a value, not a pointer

// What cnrtGetDeviceInfo fills in.
struct cnrtDeviceInfo_t {
  char device_name[64];
  int core_version;
  int core_num;
};

using cnnlHandle_t = struct cnnlContext*;

// Everything that the library creates and destroys by a pair of functions: see objects.inc.
#define OBJECT(type, create, destroy) using type = struct type##Struct*;
#include "objects.inc"
#undef OBJECT

}  // namespace headrace::cambricon
