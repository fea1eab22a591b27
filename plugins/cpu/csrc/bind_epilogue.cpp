#include "bind_epilogue.h"

namespace headrace::cpu::bind {
namespace {

constexpr std::array<const char*, 7> kActivations = {"none", "clamp",        "leaky",     "sigmoid",
                                                     "silu", "hard_sigmoid", "hard_swish"};

}  // namespace

Epilogue MakeEpilogue(const char* op, const EpilogueArgs& args, const AnyArray& y, Size columns) {
  Epilogue epilogue;
  epilogue.bias = ReadIfGiven(op, "bias", args.bias, {columns});
  epilogue.addend = ReadIfGiven(op, "addend", args.addend, Shape(y));
  epilogue.addend_stride = columns;
  epilogue.addend_last = args.addend_last;
  epilogue.activation =
      static_cast<Activation>(IndexOf(op, "activation", kActivations, args.activation));
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
