#include "bind_epilogue.h"

#include <array>

namespace headrace::cpu::bind {
namespace {

constexpr std::array<const char*, 7> kActivations = {"none", "clamp",        "leaky",     "sigmoid",
                                                     "silu", "hard_sigmoid", "hard_swish"};

Activation ActivationOf(const char* op, const std::string& name) {
  for (std::size_t i = 0; i < kActivations.size(); ++i) {
    if (name == kActivations[i]) return static_cast<Activation>(i);
  }
  throw py::value_error(std::string(op) + ": there is no activation '" + name + "'");
}

}  // namespace

Epilogue MakeEpilogue(const char* op, const EpilogueArgs& args, const AnyArray& y, Size columns) {
  Epilogue epilogue;
  if (args.bias) {
    RequireShape(op, "bias", *args.bias, {columns});
    epilogue.bias = ReadPointer(op, "bias", *args.bias);
  }
  if (args.addend) {
    RequireShape(op, "addend", *args.addend, Shape(y));
    epilogue.addend = ReadPointer(op, "addend", *args.addend);
  }
  epilogue.addend_stride = columns;
  epilogue.addend_last = args.addend_last;
  epilogue.activation = ActivationOf(op, args.activation);
  epilogue.alpha = args.alpha;
  epilogue.beta = args.beta;
  return epilogue;
}

void RegisterEpilogue(py::module_& m) {
  py::class_<EpilogueArgs>(m, "Epilogue", "What follows a product.")
      .def(py::init<MaybeFloats, MaybeFloats, std::string, float, float, bool>(),
           py::arg("bias") = py::none(), py::arg("addend") = py::none(),
           py::arg("activation") = "none", py::arg("alpha") = 0.0F, py::arg("beta") = 0.0F,
           py::arg("addend_last") = false);
}

}  // namespace headrace::cpu::bind
