#include "kernels/learners/trees.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Steps that are worth a part of their own.
constexpr Size kPartWork = 1 << 12;
// Rows that go down one tree before the next: its nodes are in the cache then.
constexpr Size kRows = 64;
// Ways down that are gone side by side: each waits for what it reads, so many hide the wait.
constexpr Size kLanes = 8;

// An index, which counts from the end when it is negative.
Size At(std::int32_t index, Size count, const char* table) {
  if (static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(count)) return index;
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

// The nodes as they were given: each index is checked when it is followed.
template <class T>
struct Given {
  explicit Given(const Trees<T>& given) : t(given) {}
  const Trees<T>& t;

  Size Feature(Size node) const { return At(t.features[node], t.width, "features"); }
  T Split(Size node) const { return t.splits[node]; }
  Size Next(Size node, bool met) const {
    const std::int32_t yes = t.yes[node], no = t.no[node];
    return At(met ? yes : no, t.nodes, met ? "yes" : "no");
  }
};

// The nodes side by side in memory, all indices checked.
template <class T>
struct Together {
  const TreeNode<T>* nodes;

  Size Feature(Size node) const { return nodes[node].feature; }
  T Split(Size node) const { return nodes[node].split; }
  Size Next(Size node, bool met) const { return nodes[node].next[met ? 1 : 0]; }
};

template <class T>
Together<T> Lay(const Trees<T>& t, TreeNode<T>* nodes) {
  const Given<T> given(t);
  for (Size node = 0; node < t.nodes; ++node) {
    nodes[node] = {t.splits[node],
                   static_cast<std::int32_t>(given.Feature(node)),
                   {static_cast<std::int32_t>(given.Next(node, false)),
                    static_cast<std::int32_t>(given.Next(node, true))}};
  }
  return {nodes};
}

// Calls f with a function that answers the question of a node.
template <class T, class F>
void WithQuestion(const Trees<T>& t, const F& f) {
  const auto plain = [&](const auto& holds) {
    if (t.nans == nullptr) {
      f([&](Size, T number, T split) { return holds(number, split); });
    } else {
      f([&](Size node, T number, T split) {
        return holds(number, split) | (t.nans[node] & (number != number));
      });
    }
  };
  const Size kinds = static_cast<Size>(t.comparisons.size());
  if (kinds == 1 && t.comparisons[0] == Comparison::kLessEqual) {
    plain([](T number, T split) { return number <= split; });
  } else if (kinds == 1 && t.comparisons[0] == Comparison::kLess) {
    plain([](T number, T split) { return number < split; });
  } else {
    f([&](Size node, T number, T split) {
      const Size mode = kinds == 1 ? 0 : At(t.modes[node], kinds, "modes");
      return Holds(t.comparisons[static_cast<std::size_t>(mode)], number, split) ||
             (t.nans != nullptr && t.nans[node] && number != number);
    });
  }
}

// Goes down from nodes `at`, each with its row, to where they end.
template <class T, class Table, class Question>
void Descend(const Table& table, Size depth, const Question& met, const T* const* rows, Size* at) {
  for (Size step = 0; step < depth; ++step) {
    Size moved = 0;
    for (Size lane = 0; lane < kLanes; ++lane) {
      const Size node = at[lane];
      const T number = rows[lane][table.Feature(node)];
      const Size next = table.Next(node, met(node, number, table.Split(node)));
      moved |= next ^ node;  // what leads to itself would ask the same again
      at[lane] = next;
    }
    if (moved == 0) break;
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

// Zeros, in the memory of the calling thread.
double* Doubles(Size count) {
  auto* const memory =
      static_cast<double*>(ThreadScratch(static_cast<std::size_t>(count) * sizeof(double)));
  std::fill_n(memory, count, 0.0);
  return memory;
}

// A block of rows goes down all trees, several rows side by side.
template <class T, class Table, class Question>
void DecideRows(const Trees<T>& t, const Table& table, const Question& met, const T* x, Size count,
                T* y) {
  double* const said = Doubles(count * t.targets);
  for (Size tree = 0; tree < t.trees; ++tree) {
    const Size root = At(t.roots[tree], t.nodes, "roots");
    for (Size first = 0; first < count; first += kLanes) {
      const T* rows[kLanes];
      Size at[kLanes];
      for (Size lane = 0; lane < kLanes; ++lane) {
        rows[lane] = x + std::min(first + lane, count - 1) * t.width;
        at[lane] = root;
      }
      Descend(table, t.depth, met, rows, at);
      for (Size lane = 0; lane < std::min(kLanes, count - first); ++lane) {
        Add(t, tree, at[lane], said + (first + lane) * t.targets);
      }
    }
  }
  for (Size i = 0; i < count * t.targets; ++i) y[i] = static_cast<T>(said[i]);
}

// Where a row ends that enters at `node`. The processor guesses the answers and reads ahead, which
// it does well for few rows.
template <class T, class Table, class Question>
Size Leaf(const Table& table, Size depth, const Question& met, const T* row, Size node) {
  for (Size step = 0; step < depth; ++step) {
    const Size before = node;
    if (met(node, row[table.Feature(node)], table.Split(node))) {
      node = table.Next(node, true);
    } else {
      node = table.Next(node, false);
    }
    if (node == before) break;
  }
  return node;
}

// One row goes down all trees: who has few rows shares out the trees.
template <class T, class Table, class Question>
void DecideRow(const Trees<T>& t, const Table& table, const Question& met, const T* x, T* y) {
  double* const said = Doubles(t.targets + t.trees);
  auto* const leaves = reinterpret_cast<Size*>(said + t.targets);
  const Size grain = std::max<Size>(1, kPartWork / std::max<Size>(1, t.depth));
  ParallelFor(t.trees, grain, [&](Size begin, Size end) {
    for (Size tree = begin; tree < end; ++tree) {
      const Size root = At(t.roots[tree], t.nodes, "roots");
      leaves[tree] = Leaf(table, t.depth, met, x, root);
    }
  });
  for (Size tree = 0; tree < t.trees; ++tree) Add(t, tree, leaves[tree], said);
  for (Size i = 0; i < t.targets; ++i) y[i] = static_cast<T>(said[i]);
}

template <class T, class Table>
void DecideAll(const Trees<T>& t, const Table& table, const T* x, T* y) {
  WithQuestion(t, [&](const auto& met) {
    if (t.rows < kLanes) {
      for (Size row = 0; row < t.rows; ++row) {
        DecideRow(t, table, met, x + row * t.width, y + row * t.targets);
      }
      return;
    }
    const Size work = std::max<Size>(1, t.trees * t.depth);
    const Size grain = std::clamp<Size>(kPartWork / work, kLanes, kRows);
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
void Decide(const Trees<T>& trees, const T* x, T* y, TreeNode<T>* packed) {
  if (packed == nullptr) {
    DecideAll(trees, Given<T>(trees), x, y);
  } else {
    DecideAll(trees, Lay(trees, packed), x, y);
  }
}

template void Decide(const Trees<float>&, const float*, float*, TreeNode<float>*);
template void Decide(const Trees<double>&, const double*, double*, TreeNode<double>*);

}  // namespace headrace::cpu
