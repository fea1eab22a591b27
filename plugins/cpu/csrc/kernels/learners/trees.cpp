#include "kernels/learners/trees.h"

#include <algorithm>
#include <limits>

#include "kernels/learners/tree_nodes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Steps that are worth a part of their own.
constexpr Size kPartWork = 1 << 12;
// Fewer rows share out the trees, and not themselves, among the threads.
constexpr Size kFewRows = 8;
// Rows that go down one tree before the next: its nodes are in the cache then.
constexpr Size kRows = 64;
// Ways down that are gone side by side: each waits for what it reads, so many hide the wait.
constexpr Size kLanes = 8;
// Steps of these before it is looked who has arrived, and ways down that are looked through then.
constexpr Size kSteps = 4, kWays = 256;

// Takes `steps` steps from nodes `at`, each with its row. before: where each was one step ago.
template <class T, class Table, class Question>
void Step(const Table& table, const Question& met, Size steps, const T* const* rows,
          std::uint32_t* at, std::uint32_t* before) {
  for (Size step = 0; step < steps; ++step) {
    for (Size lane = 0; lane < kLanes; ++lane) {
      const Size node = at[lane];
      before[lane] = at[lane];
      at[lane] =
          static_cast<std::uint32_t>(table.Next(node, met(node, rows[lane][table.Feature(node)])));
    }
  }
}

// Goes down `trees` trees from the first one with `rows` rows of x, no more ways than kWays.
// leaves: [trees, rows]. Ways that have ended are left out, so that long ones wait for no others.
template <class T, class Table, class Question>
void Descend(const Trees<T>& t, const Table& table, const Question& met, const T* x, Size rows,
             Size first, Size trees, std::uint32_t* leaves) {
  std::uint32_t going[kWays];
  const T* from[kWays];
  Size count = 0;
  for (Size tree = 0; tree < trees; ++tree) {
    const Size root = At(t.roots[first + tree], t.nodes, "roots");
    for (Size row = 0; row < rows; ++row, ++count) {
      leaves[count] = static_cast<std::uint32_t>(root);
      going[count] = static_cast<std::uint32_t>(count);
      from[count] = x + row * t.width;
    }
  }
  for (Size step = 0; step < t.depth && count > 0; step += kSteps) {
    Size left = 0;
    for (Size group = 0; group < count; group += kLanes) {
      std::uint32_t at[kLanes], before[kLanes];
      const T* row[kLanes];
      for (Size lane = 0; lane < kLanes; ++lane) {
        const std::uint32_t way = going[std::min(group + lane, count - 1)];
        at[lane] = leaves[way];
        row[lane] = from[way];
      }
      Step(table, met, std::min(kSteps, t.depth - step), row, at, before);
      for (Size lane = 0; lane < std::min(kLanes, count - group); ++lane) {
        const std::uint32_t way = going[group + lane];
        leaves[way] = at[lane];
        going[left] = way;
        left += at[lane] == before[lane] ? 0 : 1;  // what leads to itself asks the same again
      }
    }
    count = left;
  }
}

// What one tree says is put to what those before it said.
template <class T>
void Add(const Trees<T>& t, Size tree, Size leaf, double* said) {
  const T* weights = t.weights + leaf * t.targets;
  for (Size target = 0; target < t.targets; ++target) {
    const double weight = static_cast<double>(weights[target]);
    if (t.vote == Vote::kSum) {
      said[target] += weight;
    } else if (tree == 0 ||
               (t.vote == Vote::kSmallest ? weight < said[target] : weight > said[target])) {
      said[target] = weight;
    }
  }
}

// leaves: [trees, rows], where rows ended in trees from the first one; said: [rows, targets].
template <class T>
void AddAll(const Trees<T>& t, const std::uint32_t* leaves, Size rows, Size first, Size trees,
            double* said) {
  for (Size tree = 0; tree < trees; ++tree) {
    for (Size row = 0; row < rows; ++row) {
      Add(t, first + tree, leaves[tree * rows + row], said + row * t.targets);
    }
  }
}

// Zeros, in the memory of the calling thread.
double* Doubles(Size count) {
  auto* const memory =
      static_cast<double*>(ThreadScratch(static_cast<std::size_t>(count) * sizeof(double)));
  std::fill_n(memory, count, 0.0);
  return memory;
}

// A block of rows goes down all trees.
template <class T, class Table, class Question>
void DecideRows(const Trees<T>& t, const Table& table, const Question& met, const T* x, Size rows,
                T* y) {
  double* const said = Doubles(rows * t.targets);
  const Size block = kWays / rows;
  for (Size first = 0; first < t.trees; first += block) {
    std::uint32_t leaves[kWays];
    const Size trees = std::min(block, t.trees - first);
    Descend(t, table, met, x, rows, first, trees, leaves);
    AddAll(t, leaves, rows, first, trees, said);
  }
  for (Size i = 0; i < rows * t.targets; ++i) y[i] = static_cast<T>(said[i]);
}

// All rows go down all trees, which the threads share out: what they say is put together in order.
template <class T, class Table, class Question>
void DecideFew(const Trees<T>& t, const Table& table, const Question& met, const T* x, T* y) {
  double* const said = Doubles(t.rows * (t.targets + t.trees));
  auto* const leaves = reinterpret_cast<std::uint32_t*>(said + t.rows * t.targets);
  const Size block = kWays / t.rows;
  const Size grain = GrainOf(kPartWork, t.depth * t.rows);
  ParallelFor(t.trees, grain, [&](Size begin, Size end) {
    for (Size first = begin; first < end; first += block) {
      const Size trees = std::min(block, end - first);
      Descend(t, table, met, x, t.rows, first, trees, leaves + first * t.rows);
    }
  });
  AddAll(t, leaves, t.rows, 0, t.trees, said);
  for (Size i = 0; i < t.rows * t.targets; ++i) y[i] = static_cast<T>(said[i]);
}

template <class T, class Table>
void DecideAll(const Trees<T>& t, const Table& table, const T* x, T* y) {
  WithQuestion<T>(t.comparisons, table, [&](const auto& met) {
    if (t.rows == 0) return;
    if (t.rows < kFewRows) {
      DecideFew(t, table, met, x, y);
      return;
    }
    const Size work = std::max<Size>(1, t.trees * t.depth);
    const Size grain = std::clamp<Size>(kPartWork / work, kFewRows, kRows);
    ParallelFor(t.rows, grain, [&](Size begin, Size end) {
      for (Size row = begin; row < end; row += kRows) {
        DecideRows(t, table, met, x + row * t.width, std::min(kRows, end - row),
                   y + row * t.targets);
      }
    });
  });
}

}  // namespace

template <class T>
void Decide(const Trees<T>& trees, const NodeTables<T>& nodes, const T* x, T* y) {
  const auto kinds = static_cast<Size>(trees.comparisons.size());
  DecideAll(trees, Given<T>{nodes, trees.width, trees.nodes, kinds}, x, y);
}

template <class T>
void Decide(const Trees<T>& trees, const NodeRecord<T>* nodes, bool nans, const T* x, T* y) {
  const auto end = [](Size count) {
    return static_cast<std::uint32_t>(
        std::min<Size>(count, std::numeric_limits<std::uint32_t>::max()));
  };
  const auto kinds = static_cast<std::uint32_t>(trees.comparisons.size());
  DecideAll(trees, Laid<T>{nodes, end(trees.width), end(trees.nodes), kinds, nans}, x, y);
}

template void Decide(const Trees<float>&, const NodeTables<float>&, const float*, float*);
template void Decide(const Trees<double>&, const NodeTables<double>&, const double*, double*);
template void Decide(const Trees<float>&, const NodeRecord<float>*, bool, const float*, float*);
template void Decide(const Trees<double>&, const NodeRecord<double>*, bool, const double*, double*);

}  // namespace headrace::cpu
