// What models are made of that were learnt otherwise than networks: trees, and pairs of classes.
#include "bind_common.h"
#include "kernels/learners/couple_pairs.h"
#include "kernels/learners/trees.h"

namespace headrace::cpu::bind {
namespace {

using Indices = Array<std::int32_t>;

constexpr const char* kOp = "tree_ensemble";

constexpr std::array<const char*, 3> kVotes = {"sum", "min", "max"};
constexpr std::array<const char*, 6> kComparisons = {"less_equal", "less",  "greater_equal",
                                                     "greater",    "equal", "not_equal"};

// `_native.Trees`: what is not said node by node. Weights are of the dtype of x.
struct TreesArgs {
  Indices roots;
  AnyArray weights;
  std::vector<std::string> comparisons;
  Size depth;
  std::string aggregate;
};

template <class T>
Array<T> TableOf(const char* name, const AnyArray& table) {
  if (py::isinstance<Array<T>>(table)) return py::reinterpret_borrow<Array<T>>(table);
  throw py::type_error(std::string(kOp) + ": " + name + " must be contiguous, of the dtype of x");
}

template <class T>
Trees<T> TreesOf(const Array<T>& x, const TreesArgs& args, const Array<T>& y) {
  const auto weights = TableOf<T>("weights", args.weights);
  if (x.ndim() != 2 || weights.ndim() != 2 || args.roots.ndim() != 1) {
    throw py::value_error("tree_ensemble: x, weights and roots must have 2, 2 and 1 axes");
  }
  RequireShape(kOp, "y", y, {x.shape(0), weights.shape(1)});
  if (args.comparisons.empty()) throw py::value_error("tree_ensemble: comparisons must be given");
  Trees<T> trees{x.shape(0),
                 x.shape(1),
                 args.roots.shape(0),
                 weights.shape(0),
                 weights.shape(1),
                 args.depth,
                 {},
                 static_cast<Vote>(IndexOf(kOp, "aggregate", kVotes, args.aggregate)),
                 ReadPointer(kOp, "roots", args.roots),
                 ReadPointer(kOp, "weights", weights)};
  for (const std::string& comparison : args.comparisons) {
    trees.comparisons.push_back(
        static_cast<Comparison>(IndexOf(kOp, "comparison", kComparisons, comparison)));
  }
  return trees;
}

template <class T>
Launch BindTables(const Array<T>& x, const TreesArgs& args, const Indices& modes,
                  const Indices& features, const AnyArray& given_splits, const Indices& yes,
                  const Indices& no, const std::optional<Array<bool>>& nans, Array<T>& y) {
  const Trees<T> trees = TreesOf(x, args, y);
  const auto splits = TableOf<T>("splits", given_splits);
  RequireShape(kOp, "modes", modes, {trees.nodes});
  RequireShape(kOp, "features", features, {trees.nodes});
  RequireShape(kOp, "splits", splits, {trees.nodes});
  RequireShape(kOp, "yes", yes, {trees.nodes});
  RequireShape(kOp, "no", no, {trees.nodes});
  const NodeTables<T> nodes{
      ReadPointer(kOp, "modes", modes),   ReadPointer(kOp, "features", features),
      ReadPointer(kOp, "yes", yes),       ReadPointer(kOp, "no", no),
      ReadPointer(kOp, "splits", splits), ReadIfGiven(kOp, "nans", nans, {trees.nodes})};
  const T* from = ReadPointer(kOp, "x", x);
  T* to = WritePointer(kOp, "y", y);
  return {[=] { Decide(trees, nodes, from, to); },
          py::make_tuple(x, args.roots, args.weights, modes, features, splits, yes, no, nans, y)};
}

template <class T>
Launch BindLaid(const Array<T>& x, const TreesArgs& args, const Array<std::uint8_t>& nodes,
                bool nans, Array<T>& y) {
  const Trees<T> trees = TreesOf(x, args, y);
  RequireShape(kOp, "nodes", nodes, {trees.nodes, static_cast<Size>(sizeof(NodeRecord<T>))});
  const auto* records = reinterpret_cast<const NodeRecord<T>*>(ReadPointer(kOp, "nodes", nodes));
  RequireAligned(kOp, "nodes", records);
  const T* from = ReadPointer(kOp, "x", x);
  T* to = WritePointer(kOp, "y", y);
  return {[=] { Decide(trees, records, nans, from, to); },
          py::make_tuple(x, args.roots, args.weights, nodes, y)};
}

Launch BindCouplePairs(const Floats& shares, Floats& y) {
  constexpr const char* kOp = "couple_pairs";
  if (shares.ndim() != 2 || y.ndim() != 2 || y.shape(1) < 2) {
    throw py::value_error("couple_pairs: shares and y must have two axes, of two classes or more");
  }
  const Size rows = y.shape(0), classes = y.shape(1);
  RequireShape(kOp, "shares", shares, {rows, classes * (classes - 1) / 2});
  const float* from = ReadPointer(kOp, "shares", shares);
  float* to = WritePointer(kOp, "y", y);
  return {[=] { CouplePairs(from, to, rows, classes); }, py::make_tuple(shares, y)};
}

template <class T>
void DefineTrees(py::module_& m) {
  m.def(kOp, &BindTables<T>, py::arg("x"), py::arg("trees"), py::arg("modes"), py::arg("features"),
        py::arg("splits"), py::arg("yes"), py::arg("no"), py::arg("nans"), py::arg("y"));
  m.def("laid_trees", &BindLaid<T>, py::arg("x"), py::arg("trees"), py::arg("nodes"),
        py::arg("nans"), py::arg("y"));
}

}  // namespace

void RegisterLearners(py::module_& m) {
  py::class_<TreesArgs>(m, "Trees", "Decision trees, but for what is asked of each node.")
      .def(py::init<Indices, AnyArray, std::vector<std::string>, Size, std::string>(),
           py::arg("roots"), py::arg("weights"), py::arg("comparisons"), py::arg("depth"),
           py::arg("aggregate"));
  DefineTrees<float>(m);
  DefineTrees<double>(m);
  m.def("couple_pairs", &BindCouplePairs, py::arg("shares"), py::arg("y"));
}

}  // namespace headrace::cpu::bind
