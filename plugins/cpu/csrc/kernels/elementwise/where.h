// One of two elements, as a truth value says; elements are bytes here, of any dtype.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// Steps are 0 or 1.
struct WhereSteps {
  Size condition, a, b;
};
// y[i] = condition[i] ? a[i] : b[i] for `count` elements, each i times its step; no overlap.
using WhereLoop = void (*)(const bool* condition, const char* a, const char* b, char* y, Size count,
                           const WhereSteps& steps);

struct WhereTable {
  // Of elements of so many bytes; null but for 1, 2, 4 and 8.
  WhereLoop (*loop)(Size item);
};
HEADRACE_TABLE(WhereTable, Wheres)

}  // namespace headrace::cpu
