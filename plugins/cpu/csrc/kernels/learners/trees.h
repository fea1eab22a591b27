// Ensembles of decision trees: every row of a batch goes down every tree.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

enum class Comparison { kLessEqual, kLess, kGreaterEqual, kGreater, kEqual, kNotEqual };
enum class Vote { kSum, kSmallest, kLargest };

// See the op `tree_ensemble`. Indices, here and of nodes, may be anything.
template <class T>
struct Trees {
  Size rows, width;  // x: [rows, width]
  Size trees, nodes, targets, depth;
  std::vector<Comparison> comparisons;
  Vote vote;
  const std::int32_t* roots;
  const T* weights;  // [nodes, targets]
};

// What is asked of each node, in tables with an element for each.
template <class T>
struct NodeTables {
  const std::int32_t *modes, *features, *yes, *no;
  const T* splits;
  const bool* nans;  // or null
};

// What is asked of one node side by side, as `cpu.lay_trees` lays it: a step reads one cache line.
template <class T>
struct NodeRecord {
  T split;
  std::uint32_t question;
  std::uint32_t next[2];  // where a row goes that does not, and that does
};

// A question: the feature in the lowest bits, then the mode, then whether NaN is met.
constexpr std::uint32_t kFeatureBits = 28, kModeBits = 3;

// y: [rows, targets], with all threads; sums are taken in float64, tree by tree. Throws
// std::out_of_range when a table holds an index that is outside.
template <class T>
void Decide(const Trees<T>& trees, const NodeTables<T>& nodes, const T* x, T* y);

// If no node is met by NaN, `nans` says so, and none is asked.
template <class T>
void Decide(const Trees<T>& trees, const NodeRecord<T>* nodes, bool nans, const T* x, T* y);

}  // namespace headrace::cpu
