#include "trees.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "thread_pool.h"

namespace headrace::cpu {
namespace {

// Steps that are worth a part of their own.
constexpr Size kPartWork = 1 << 12;
// Rows that go down one tree before the next: its nodes are in the cache then.
constexpr Size kRows = 64;

// An index, which counts from the end when it is negative.
Size At(std::int32_t index, Size count, const char* table) {
  const Size at = index < 0 ? index + count : index;
  if (at < 0 || at >= count) {
    throw std::out_of_range("tree_ensemble: index " + std::to_string(index) + " of " + table +
                            " is outside of " + std::to_string(count));
  }
  return at;
}

template <class T>
bool Holds(Comparison comparison, T number, T split) {
  switch (comparison) {
    case Comparison::kLessEqual:
      return number <= split;
    case Comparison::kLess:
      return number < split;
    case Comparison::kGreaterEqual:
      return number >= split;
    case Comparison::kGreater:
      return number > split;
    case Comparison::kEqual:
      return number == split;
    case Comparison::kNotEqual:
      return number != split;
  }
  return false;
}

// Where a row ends that enters at `node`.
template <class T>
Size Leaf(const Trees<T>& t, const T* row, Size node) {
  const Size kinds = static_cast<Size>(t.comparisons.size());
  for (Size step = 0; step < t.depth; ++step) {
    const T number = row[At(t.features[node], t.width, "features")];
    const Size mode = kinds == 1 ? 0 : At(t.modes[node], kinds, "modes");
    const bool met = Holds(t.comparisons[static_cast<std::size_t>(mode)], number, t.splits[node]) ||
                     (t.nans != nullptr && t.nans[node] && number != number);
    const Size next = met ? At(t.yes[node], t.nodes, "yes") : At(t.no[node], t.nodes, "no");
    if (next == node) break;  // it would ask the same again
    node = next;
  }
  return node;
}

template <class T>
void DecideRows(const Trees<T>& t, const T* x, Size count, T* y) {
  std::vector<double> said(static_cast<std::size_t>(count * t.targets));
  for (Size tree = 0; tree < t.trees; ++tree) {
    const Size root = At(t.roots[tree], t.nodes, "roots");
    for (Size row = 0; row < count; ++row) {
      const T* weights = t.weights + Leaf(t, x + row * t.width, root) * t.targets;
      double* to = said.data() + row * t.targets;
      for (Size target = 0; target < t.targets; ++target) {
        const double weight = static_cast<double>(weights[target]);
        if (t.vote == Vote::kSum) {
          to[target] += weight;
        } else if (tree == 0 ||
                   (t.vote == Vote::kSmallest ? weight < to[target] : weight > to[target])) {
          to[target] = weight;
        }
      }
    }
  }
  for (Size i = 0; i < count * t.targets; ++i) {
    y[i] = static_cast<T>(said[static_cast<std::size_t>(i)]);
  }
}

}  // namespace

template <class T>
void Decide(const Trees<T>& trees, const T* x, T* y) {
  const Size work = std::max<Size>(1, trees.trees * trees.depth);
  const Size grain = std::clamp<Size>(kPartWork / work, 1, kRows);
  ParallelFor(trees.rows, grain, [&](Size begin, Size end) {
    for (Size row = begin; row < end; row += kRows) {
      DecideRows(trees, x + row * trees.width, std::min(kRows, end - row), y + row * trees.targets);
    }
  });
}

template void Decide(const Trees<float>&, const float*, float*);
template void Decide(const Trees<double>&, const double*, double*);

}  // namespace headrace::cpu
