// What is asked of the nodes of trees, and where it leads: as it was given, and as it is laid.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/learners/trees.h"

namespace headrace::cpu {

[[noreturn, gnu::cold, gnu::noinline]] inline void Outside(Size index, Size count,
                                                           const char* table) {
  throw std::out_of_range("tree_ensemble: index " + std::to_string(index) + " of " + table +
                          " is outside of " + std::to_string(count));
}

// An index, which counts from the end when it is negative.
inline Size At(std::int32_t index, Size count, const char* table) {
  const Size at = index < 0 ? index + count : index;
  if (at < 0 || at >= count) Outside(index, count, table);
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

// The nodes as they were given.
template <class T>
struct Given {
  NodeTables<T> nodes;
  Size width, count, kinds;

  bool TracksNans() const { return nodes.nans != nullptr; }
  Size Feature(Size node) const { return At(nodes.features[node], width, "features"); }
  Size Mode(Size node) const { return At(nodes.modes[node], kinds, "modes"); }
  bool IsMetByNan(Size node) const { return nodes.nans[node]; }
  T Split(Size node) const { return nodes.splits[node]; }
  Size Next(Size node, bool met) const {
    return met ? At(nodes.yes[node], count, "yes") : At(nodes.no[node], count, "no");
  }
};

// The nodes side by side in memory. No index is negative.
template <class T>
struct Laid {
  const NodeRecord<T>* nodes;
  std::uint32_t width, count, kinds;
  bool nans;

  bool TracksNans() const { return nans; }
  Size Feature(Size node) const {
    return In(nodes[node].question & ((1U << kFeatureBits) - 1), width, "features");
  }
  Size Mode(Size node) const {
    return In(nodes[node].question >> kFeatureBits & ((1U << kModeBits) - 1), kinds, "modes");
  }
  bool IsMetByNan(Size node) const {
    return (nodes[node].question >> (kFeatureBits + kModeBits)) != 0;
  }
  T Split(Size node) const { return nodes[node].split; }
  // Read, and not guessed: the processor would be wrong as often as questions are worth asking.
  Size Next(Size node, bool met) const { return In(nodes[node].next[met ? 1 : 0], count, "next"); }

 private:
  static Size In(std::uint32_t index, std::uint32_t end, const char* table) {
    if (index >= end) [[unlikely]]
      Outside(index, end, table);
    return index;
  }
};

// Calls f with a function that answers the question of a node of `table`.
template <class T, class Table, class F>
void WithQuestion(const std::vector<Comparison>& comparisons, const Table& table, const F& f) {
  const auto plain = [&](const auto& holds) {
    if (table.TracksNans()) {
      f([&](Size node, T number) {
        return holds(number, table.Split(node)) | (table.IsMetByNan(node) & (number != number));
      });
    } else {
      f([&](Size node, T number) { return holds(number, table.Split(node)); });
    }
  };
  if (comparisons.size() == 1 && comparisons[0] == Comparison::kLessEqual) {
    plain([](T number, T split) { return number <= split; });
  } else if (comparisons.size() == 1 && comparisons[0] == Comparison::kLess) {
    plain([](T number, T split) { return number < split; });
  } else {
    f([&](Size node, T number) {
      const Size mode = comparisons.size() == 1 ? 0 : table.Mode(node);
      return Holds(comparisons[static_cast<std::size_t>(mode)], number, table.Split(node)) ||
             (table.TracksNans() && table.IsMetByNan(node) && number != number);
    });
  }
}

}  // namespace headrace::cpu
