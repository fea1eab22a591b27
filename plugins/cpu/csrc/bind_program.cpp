// Elementwise programs.
#include "bind_common.h"
#include "kernels/elementwise/program.h"

namespace headrace::cpu::bind {
namespace {

constexpr std::array<const char*, static_cast<std::size_t>(Op::kCount)> kOps = {
    // numbers of two
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "power",
    // of one
    "negative", "abs", "floor", "ceil", "round", "sqrt", "reciprocal", "exp", "log", "erf",
    "sigmoid", "tanh", "asin", "acos", "atan", "sin", "cos", "relu", "clip", "leaky_relu",
    "hard_sigmoid", "hard_swish", "swish",
    // truth, and what chooses
    "equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
    "logical_not", "is_nan", "where",
    // results of other types
    "identity", "dequantize", "quantize_int8", "quantize_uint8", "quantize_int16",
    "quantize_uint16", "float16", "bfloat16"};
static_assert(kOps.back() != nullptr, "each has a name");

Op OpOf(const std::string& name) { return static_cast<Op>(IndexOf("program", "step", kOps, name)); }

Item KnownItem(const AnyArray& array) {
  if (py::isinstance<Array<float>>(array)) return Item::kFloat;
  if (py::isinstance<Array<bool>>(array)) return Item::kBool;
  if (py::isinstance<Array<std::int8_t>>(array)) return Item::kInt8;
  if (py::isinstance<Array<std::uint8_t>>(array)) return Item::kUint8;
  if (py::isinstance<Array<std::int16_t>>(array)) return Item::kInt16;
  if (py::isinstance<Array<std::uint16_t>>(array)) return Item::kUint16;
  if (py::isinstance<Array<std::int32_t>>(array)) return Item::kInt32;
  if (py::isinstance<Array<std::int64_t>>(array)) return Item::kInt64;
  if (array.contiguous()) {
    const std::string name = array.dtype_name();
    if (name == "float16") return Item::kFloat16;
    if (name == "bfloat16") return Item::kBfloat16;
  }
  throw py::type_error(
      "program: an array must be contiguous, of float32, float16, bfloat16, bool, int8, uint8, "
      "int16, uint16, int32 or int64");
}

Item ItemOf(const AnyArray& array) {
  const Item item = KnownItem(array);
  RequireAligned("program", "an array", array.data(), static_cast<std::size_t>(array.itemsize()));
  return item;
}

using StepArgs = std::pair<std::string, std::vector<int>>;

std::vector<Step> StepsOf(const std::vector<StepArgs>& args, std::size_t firm) {
  if (args.empty() || firm + args.size() > kMostOperands) {
    throw py::value_error("program: has " + std::to_string(args.size()) + " steps on " +
                          std::to_string(firm) + " operands; at most " +
                          std::to_string(kMostOperands) + " in all");
  }
  std::vector<Step> steps;
  for (const auto& [name, operands] : args) {
    const int made = static_cast<int>(firm + steps.size());
    if (operands.empty() || operands.size() > 3) {
      throw py::value_error("program: step '" + name + "' has one to three operands");
    }
    for (const int operand : operands) {
      if (operand < 0 || operand >= made) {
        throw py::value_error("program: step '" + name + "' reads operand " +
                              std::to_string(operand) + " before it is made");
      }
    }
    const auto at = [&, &all = operands](std::size_t i) { return all[i < all.size() ? i : 0]; };
    steps.push_back({OpOf(name), at(0), at(1), at(2)});
  }
  return steps;
}

Launch BindProgram(const std::vector<StepArgs>& steps, const std::vector<float>& constants,
                   const std::vector<AnyArray>& inputs, AnyArray& y) {
  const Dims shape = Shape(y);
  std::vector<ProgramInput> sources;
  for (const AnyArray& input : inputs) {
    const Dims own = Shape(input);
    bool fits = own.size() <= shape.size();
    for (std::size_t i = 1; fits && i <= own.size(); ++i) {
      fits = own[own.size() - i] == 1 || own[own.size() - i] == shape[shape.size() - i];
    }
    if (!fits) {
      throw py::value_error("program: an input is " + Text(own) + " and y is " + Text(shape));
    }
    sources.push_back({input.data(), ItemOf(input), own});
  }
  const Item made = ItemOf(y);
  if (made == Item::kInt32 || made == Item::kInt64) {
    throw py::type_error("program: y must be no int32 or int64");
  }
  RequireWriteable("program", "y", y);
  std::vector<Step> sound = StepsOf(steps, inputs.size() + constants.size());
  if (y.size() == 0) return {};
  const auto program = std::make_shared<Program>(std::move(sources), constants, std::move(sound),
                                                 shape, y.mutable_data(), made);
  py::tuple arrays = py::make_tuple(py::cast(inputs), y);
  return {[program] { program->Run(); }, arrays};
}

}  // namespace

void RegisterProgram(py::module_& m) {
  m.def("program", &BindProgram, py::arg("steps"), py::arg("constants"), py::arg("inputs"),
        py::arg("y"));
}

}  // namespace headrace::cpu::bind
