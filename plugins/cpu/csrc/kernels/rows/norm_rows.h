// Sums and lines over rows: what normalisations of planes spend their time on.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

template <class T>
struct RowNorms {
  // The sum of x, and that of the squares of x - center; both go on in double.
  double (*sum)(const T* x, Size count);
  double (*squares)(const T* x, T center, Size count);
  // y[i] = (x[i] - center) * factor + offset, where y may be x; with one number of each for all,
  // or one for each element.
  void (*line)(const T* x, T center, T factor, T offset, T* y, Size count);
  void (*lines)(const T* x, const T* center, const T* factor, const T* offset, T* y, Size count);
};
struct RowNormTable : RowNorms<float>, RowNorms<double> {};
HEADRACE_TABLE(RowNormTable, RowNormLoops)

}  // namespace headrace::cpu
