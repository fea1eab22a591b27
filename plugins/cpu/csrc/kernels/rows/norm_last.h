// Normalisations of images whose channels are last, float32.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// x, y [n, pixels, channels], which may be the same memory; gamma and beta [channels]. Each of
// `groups` equal runs of channels of each image by its own mean and variance.
struct GroupNormLast {
  Size n, pixels, channels, groups;
  const float* x;
  const float* gamma;
  const float* beta;
  float* y;
  double epsilon;
};

// With all threads. Statistics do not depend on how many there are.
void Standardize(const GroupNormLast& norm);

// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, in each row; all of them [channels].
struct NormalizationLast {
  Size rows, channels;
  const float* x;
  const float* mean;
  const float* variance;
  const float* gamma;
  const float* beta;
  float* y;
  double epsilon;
};
void Normalize(const NormalizationLast& norm);

struct NormTable {
  // About the mean of each column: a number that it is near to, the sum of what lies beyond that,
  // and the sum of squares of this.
  void (*moments)(const float* x, Size rows, Size columns, float* center, float* rest,
                  float* squares);
  // y[r][c] = (x[r][c] - center[c]) * factor[c] + offset[c].
  void (*scale)(const float* x, Size rows, Size columns, const float* center, const float* factor,
                const float* offset, float* y);
};
HEADRACE_TABLE(NormTable, Norms)

}  // namespace headrace::cpu
