// Ensembles of decision trees.
#include <array>
#include <optional>

#include "bind_common.h"
#include "kernels/trees.h"

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

template <class T>
Launch BindTrees(const Array<T>& x, const Indices& roots, const Indices& modes,
                 const Indices& features, const Array<T>& splits, const Indices& yes,
                 const Indices& no, const Array<T>& weights, const std::optional<Array<bool>>& nans,
                 Array<T>& y, const std::vector<std::string>& comparisons, Size depth,
                 const std::string& aggregate) {
  if (x.ndim() != 2 || weights.ndim() != 2 || roots.ndim() != 1) {
    throw py::value_error("tree_ensemble: x, weights and roots must have 2, 2 and 1 axes");
  }
  const Size nodes = weights.shape(0);
  RequireShape(kOp, "modes", modes, {nodes});
  RequireShape(kOp, "features", features, {nodes});
  RequireShape(kOp, "splits", splits, {nodes});
  RequireShape(kOp, "yes", yes, {nodes});
  RequireShape(kOp, "no", no, {nodes});
  if (nans) RequireShape(kOp, "nans", *nans, {nodes});
  RequireShape(kOp, "y", y, {x.shape(0), weights.shape(1)});
  if (comparisons.empty()) throw py::value_error("tree_ensemble: comparisons must be given");
  Trees<T> trees{x.shape(0),
                 x.shape(1),
                 roots.shape(0),
                 nodes,
                 weights.shape(1),
                 depth,
                 {},
                 static_cast<Vote>(Place<3>("aggregate", {"sum", "min", "max"}, aggregate)),
                 ReadPointer(kOp, "roots", roots),
                 ReadPointer(kOp, "modes", modes),
                 ReadPointer(kOp, "features", features),
                 ReadPointer(kOp, "yes", yes),
                 ReadPointer(kOp, "no", no),
                 ReadPointer(kOp, "splits", splits),
                 ReadPointer(kOp, "weights", weights),
                 nans ? ReadPointer(kOp, "nans", *nans) : nullptr};
  for (const std::string& comparison : comparisons) {
    trees.comparisons.push_back(static_cast<Comparison>(Place<6>(
        "comparison", {"less_equal", "less", "greater_equal", "greater", "equal", "not_equal"},
        comparison)));
  }
  const T* from = ReadPointer(kOp, "x", x);
  T* to = WritePointer(kOp, "y", y);
  return {[=] { Decide(trees, from, to); },
          py::make_tuple(x, roots, modes, features, splits, yes, no, weights, nans, y)};
}

template <class T>
void Define(py::module_& m) {
  m.def(kOp, &BindTrees<T>, py::arg("x").noconvert(), py::arg("roots").noconvert(),
        py::arg("modes").noconvert(), py::arg("features").noconvert(),
        py::arg("splits").noconvert(), py::arg("yes").noconvert(), py::arg("no").noconvert(),
        py::arg("weights").noconvert(), py::arg("nans").noconvert(), py::arg("y").noconvert(),
        py::arg("comparisons"), py::arg("depth"), py::arg("aggregate"));
}

}  // namespace

void RegisterTrees(py::module_& m) {
  Define<float>(m);
  Define<double>(m);
}

}  // namespace headrace::cpu::bind
