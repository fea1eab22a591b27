// Ensembles of decision trees: every row of a batch goes down every tree.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

enum class Comparison { kLessEqual, kLess, kGreaterEqual, kGreater, kEqual, kNotEqual };
enum class Vote { kSum, kSmallest, kLargest };

// Tables have an element for each node; see the op `tree_ensemble`. Indices may be anything.
template <class T>
struct Trees {
  Size rows, width;  // x: [rows, width]
  Size trees, nodes, targets, depth;
  std::vector<Comparison> comparisons;
  Vote vote;
  const std::int32_t *roots, *modes, *features, *yes, *no;
  const T *splits, *weights;  // weights: [nodes, targets]
  const bool* nans;           // or null
};

// A node with what is asked of it side by side.
template <class T>
struct TreeNode {
  T split;
  std::int32_t feature;
  std::int32_t next[2];  // where a row goes that does not, and that does
};

// y: [rows, targets], with all threads; sums are taken in float64, tree by tree. `packed` is room
// for a node each, or null: nodes are checked once and laid together there, which pays where many
// rows ask. Throws std::out_of_range when a table holds an index that is outside.
template <class T>
void Decide(const Trees<T>& trees, const T* x, T* y, TreeNode<T>* packed);

}  // namespace headrace::cpu
