// Probabilities of many classes by those of pairs of them.
#pragma once

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// With all threads. shares: [rows, classes * (classes - 1) / 2], of each pair of classes, 0 and 1
// first, then 0 and 2, how probable its first one is, were it one of the two; y: [rows, classes],
// the probabilities that fit these best, by the method of Wu, Lin and Weng: it goes on until it is
// near enough, at most 100 times or as often as there are classes. There are two classes at least.
void CouplePairs(const float* shares, float* y, Size rows, Size classes);

}  // namespace headrace::cpu
