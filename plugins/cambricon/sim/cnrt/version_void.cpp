// The eras 4 and 5: the version is told through the arguments alone.
#include "../core/version.h"
#include "export.h"

MLUSIM_EXPORT void cnrtGetLibVersion(int* major, int* minor, int* patch) {
  *major = mlusim::kRuntimeVersion[0];
  *minor = mlusim::kRuntimeVersion[1];
  *patch = mlusim::kRuntimeVersion[2];
}
