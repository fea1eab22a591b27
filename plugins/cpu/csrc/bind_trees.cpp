// Ensembles of decision trees.
#include <array>
#include <optional>

#include "bind_common.h"
#include "kernels/learners/trees.h"

namespace headrace::cpu::bind {
namespace {

using Indices = Array<std::int32_t>;

constexpr const char* kOp = "tree_ensemble";

template <std::size_t N>
std::size_t Place(const char* what, const std::array<const char*, N>& names,
                  const std::string& name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (name == names[i]) return i;
  }
  throw py::value_error(std::string(kOp) + ": there is no " + what + " '" + name + "'");
}

// `_native.Trees`. The first ones are of 32 bits, splits and weights of the dtype of x.
struct TreesArgs {
  Indices roots;
  Indices modes;
  Indices features;
  AnyArray splits;
  Indices yes;
  Indices no;
  AnyArray weights;
  std::optional<Array<bool>> nans;
  std::vector<std::string> comparisons;
  Size depth;
};

template <class T>
Array<T> TableOf(const char* name, const AnyArray& table) {
  if (py::isinstance<Array<T>>(table)) return py::reinterpret_borrow<Array<T>>(table);
  throw py::type_error(std::string(kOp) + ": " + name + " must be contiguous, of the dtype of x");
}

template <class T>
Launch BindTrees(const Array<T>& x, const TreesArgs& args, Array<T>& y,
                 const std::string& aggregate, std::optional<Array<std::uint8_t>> scratch) {
  const auto splits = TableOf<T>("splits", args.splits);
  const auto weights = TableOf<T>("weights", args.weights);
  if (x.ndim() != 2 || weights.ndim() != 2 || args.roots.ndim() != 1) {
    throw py::value_error("tree_ensemble: x, weights and roots must have 2, 2 and 1 axes");
  }
  const Size nodes = weights.shape(0);
  RequireShape(kOp, "modes", args.modes, {nodes});
  RequireShape(kOp, "features", args.features, {nodes});
  RequireShape(kOp, "splits", splits, {nodes});
  RequireShape(kOp, "yes", args.yes, {nodes});
  RequireShape(kOp, "no", args.no, {nodes});
  if (args.nans) RequireShape(kOp, "nans", *args.nans, {nodes});
  RequireShape(kOp, "y", y, {x.shape(0), weights.shape(1)});
  if (args.comparisons.empty()) throw py::value_error("tree_ensemble: comparisons must be given");
  Trees<T> trees{x.shape(0),
                 x.shape(1),
                 args.roots.shape(0),
                 nodes,
                 weights.shape(1),
                 args.depth,
                 {},
                 static_cast<Vote>(Place<3>("aggregate", {"sum", "min", "max"}, aggregate)),
                 ReadPointer(kOp, "roots", args.roots),
                 ReadPointer(kOp, "modes", args.modes),
                 ReadPointer(kOp, "features", args.features),
                 ReadPointer(kOp, "yes", args.yes),
                 ReadPointer(kOp, "no", args.no),
                 ReadPointer(kOp, "splits", splits),
                 ReadPointer(kOp, "weights", weights),
                 args.nans ? ReadPointer(kOp, "nans", *args.nans) : nullptr};
  for (const std::string& comparison : args.comparisons) {
    trees.comparisons.push_back(static_cast<Comparison>(Place<6>(
        "comparison", {"less_equal", "less", "greater_equal", "greater", "equal", "not_equal"},
        comparison)));
  }
  const T* from = ReadPointer(kOp, "x", x);
  T* to = WritePointer(kOp, "y", y);
  TreeNode<T>* packed = nullptr;
  if (scratch) {
    RequireShape(kOp, "scratch", *scratch, {nodes * static_cast<Size>(sizeof(TreeNode<T>))});
    packed = reinterpret_cast<TreeNode<T>*>(WritePointer(kOp, "scratch", *scratch));
    RequireAligned(kOp, "scratch", packed);
  }
  return {[=] { Decide(trees, from, to, packed); },
          py::make_tuple(x, args.roots, args.modes, args.features, splits, args.yes, args.no,
                         weights, args.nans, y, scratch)};
}

template <class T>
void Define(py::module_& m) {
  m.def(kOp, &BindTrees<T>, py::arg("x"), py::arg("trees"), py::arg("y"), py::arg("aggregate"),
        py::arg("scratch"));
}

}  // namespace

void RegisterTrees(py::module_& m) {
  py::class_<TreesArgs>(m, "Trees", "Decision trees as tables with an element for each node.")
      .def(py::init<Indices, Indices, Indices, AnyArray, Indices, Indices, AnyArray,
                    std::optional<Array<bool>>, std::vector<std::string>, Size>(),
           py::arg("roots"), py::arg("modes"), py::arg("features"), py::arg("splits"),
           py::arg("yes"), py::arg("no"), py::arg("weights"), py::arg("nans"),
           py::arg("comparisons"), py::arg("depth"));
  Define<float>(m);
  Define<double>(m);
}

}  // namespace headrace::cpu::bind
