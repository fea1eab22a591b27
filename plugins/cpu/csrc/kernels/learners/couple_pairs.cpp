#include "kernels/learners/couple_pairs.h"

#include <algorithm>
#include <cmath>

#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Numbers of matrices that are worth a part of their own.
constexpr Size kPartNumbers = 1 << 9;
// When the iteration ends, as in libsvm: each sum is this near to their total, over the number of
// classes, or it has taken as many turns as this or as there are classes.
constexpr double kNear = 0.005;
constexpr Size kTurns = 100;

struct Scratch {
  double* products;  // [classes, classes]
  double* sums;      // [classes]
  double* p;         // [classes]
};

// The matrix Q whose form p * Q * p the probabilities make least.
void Fill(const float* shares, double* products, Size classes) {
  for (Size i = 0; i < classes; ++i) products[i * classes + i] = 0;
  for (Size i = 0; i < classes; ++i) {
    for (Size j = i + 1; j < classes; ++j) {
      const double first = static_cast<double>(*shares++), second = 1 - first;
      products[i * classes + j] = products[j * classes + i] = -second * first;
      products[i * classes + i] += second * second;
      products[j * classes + j] += first * first;
    }
  }
}

double Total(const Scratch& s, Size classes) {
  double total = 0;
  for (Size i = 0; i < classes; ++i) {
    double sum = 0;
    for (Size j = 0; j < classes; ++j) sum += s.products[i * classes + j] * s.p[j];
    s.sums[i] = sum;
    total += s.p[i] * sum;
  }
  return total;
}

// Of what is no number, it is not far.
bool IsFar(const Scratch& s, double total, Size classes) {
  double worst = 0;
  for (Size i = 0; i < classes; ++i) {
    const double apart = std::fabs(s.sums[i] - total);
    if (apart > worst || apart != apart) worst = apart;
  }
  return worst >= kNear / static_cast<double>(classes);
}

void Couple(const Scratch& s, Size classes) {
  std::fill_n(s.p, classes, 1 / static_cast<double>(classes));
  for (Size turn = 0; turn < std::max(kTurns, classes); ++turn) {
    double total = Total(s, classes);
    if (!IsFar(s, total, classes)) return;
    for (Size i = 0; i < classes; ++i) {
      const double* row = s.products + i * classes;
      const double step = (total - s.sums[i]) / row[i], shrink = 1 / (1 + step);
      total = (total + step * (step * row[i] + 2 * s.sums[i])) * shrink * shrink;
      s.p[i] += step;
      for (Size j = 0; j < classes; ++j) {
        s.sums[j] = (s.sums[j] + step * row[j]) * shrink;
        s.p[j] *= shrink;
      }
    }
  }
}

}  // namespace

void CouplePairs(const float* shares, float* y, Size rows, Size classes) {
  const Size pairs = classes * (classes - 1) / 2, square = classes * classes;
  const Size grain = GrainOf(kPartNumbers, square);
  ParallelFor(rows, grain, [&](Size begin, Size end) {
    const auto bytes = static_cast<std::size_t>(square + 2 * classes) * sizeof(double);
    auto* const memory = static_cast<double*>(ThreadScratch(bytes));
    const Scratch s{memory, memory + square, memory + square + classes};
    for (Size row = begin; row < end; ++row) {
      Fill(shares + row * pairs, s.products, classes);
      Couple(s, classes);
      float* to = y + row * classes;
      for (Size i = 0; i < classes; ++i) to[i] = static_cast<float>(s.p[i]);
    }
  });
}

}  // namespace headrace::cpu
