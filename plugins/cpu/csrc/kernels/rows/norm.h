// Shift and scale by statistics.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// A tensor seen from one of its axes: [outer, channels, inner].
struct ChannelShape {
  Size outer;
  Size channels;
  Size inner;
};

// y = (x - mean[c]) / sqrt(variance[c] + epsilon) * gamma[c] + beta[c]. y may be x.
void Normalization(const float* x, const float* mean, const float* variance, const float* gamma,
                   const float* beta, float* y, const ChannelShape& shape, double epsilon);
void Normalization(const double* x, const double* mean, const double* variance, const double* gamma,
                   const double* beta, double* y, const ChannelShape& shape, double epsilon);

// The same with the mean and the biased variance of each row of `inner` elements, which are summed
// in double precision. y may not be x.
void InstanceNorm(const float* x, const float* gamma, const float* beta, float* y,
                  const ChannelShape& shape, double epsilon);
void InstanceNorm(const double* x, const double* gamma, const double* beta, double* y,
                  const ChannelShape& shape, double epsilon);

}  // namespace headrace::cpu
