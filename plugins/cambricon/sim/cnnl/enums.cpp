#include "enums.h"

#include <algorithm>
#include <random>
#include <utility>

#include "../core/enums.h"
#include "../core/report.h"
#include "../core/settings.h"
#include "types.h"

namespace mlusim::network {

Family::Family(const char* type, int first, std::vector<std::string> names) : type_(type) {
  values_.resize(names.size());
  for (std::size_t index = 0; index < names.size(); ++index) {
    values_[index] = first + static_cast<int>(index);
  }
  std::mt19937_64 random(TheSettings().seed * 7919 + first);
  std::shuffle(values_.begin(), values_.end(), random);
  for (std::size_t index = 0; index < names.size(); ++index) {
    PublishEnum(names[index], values_[index]);
  }
}

int Family::IndexOf(int value) const {
  const auto found = std::find(values_.begin(), values_.end(), value);
  if (found == values_.end()) {
    throw Misuse(
        "unknown-enum", Fault::kInvalidArgument,
        Text(value, " is no ", type_, " of this stand-in; its own numbers come from mlusim_enum"));
  }
  return static_cast<int>(found - values_.begin());
}

namespace {

struct Families {
  Family softmax{"cnnlSoftmaxAlgorithm_t",
                 1000,
                 {"CNNL_SOFTMAX_FAST", "CNNL_SOFTMAX_ACCURATE", "CNNL_SOFTMAX_LOG"}};
  Family softmax_mode{"cnnlSoftmaxMode_t",
                      1100,
                      {"CNNL_SOFTMAX_MODE_HIGH_DIMENSION", "CNNL_SOFTMAX_MODE_MEDIUM_DIMENSION",
                       "CNNL_SOFTMAX_MODE_LOW_DIMENSION"}};
  Family interp{"cnnlInterpMode_t",
                1200,
                {"CNNL_INTERP_NEAREST", "CNNL_INTERP_LINEAR", "CNNL_INTERP_BILINEAR",
                 "CNNL_INTERP_TRILINEAR", "CNNL_INTERP_BICUBIC"}};
  Family interp_grid{
      "cnnlInterpCoordinateTransformationMode_t",
      1250,
      {"CNNL_INTERP_COORDINATE_TRANSFORMATION_ALGO0", "CNNL_INTERP_COORDINATE_TRANSFORMATION_ALGO2",
       "CNNL_INTERP_COORDINATE_TRANSFORMATION_ALGO3"}};
  // The number of ADD was quoted from a header, those of the others only guessed from its order.
  Family op_tensor{"cnnlOpTensorDesc_t", 1300, {"CNNL_OP_TENSOR_SUB", "CNNL_OP_TENSOR_MUL"}};
  Family logic{"cnnlLogicOp_t",
               1400,
               {"CNNL_LOGIC_OP_EQ", "CNNL_LOGIC_OP_NE", "CNNL_LOGIC_OP_GT", "CNNL_LOGIC_OP_GE",
                "CNNL_LOGIC_OP_LT", "CNNL_LOGIC_OP_LE", "CNNL_LOGIC_OP_AND", "CNNL_LOGIC_OP_OR",
                "CNNL_LOGIC_OP_XOR", "CNNL_LOGIC_OP_NOT"}};
  Family activation{
      "cnnlActivationMode_t", 1500, {"CNNL_ACTIVATION_SIGMOID",      "CNNL_ACTIVATION_RELU",
                                     "CNNL_ACTIVATION_RELU6",        "CNNL_ACTIVATION_TANH",
                                     "CNNL_ACTIVATION_CLIPPED_RELU", "CNNL_ACTIVATION_ELU",
                                     "CNNL_ACTIVATION_IDENTITY",     "CNNL_ACTIVATION_SELU",
                                     "CNNL_ACTIVATION_GELU",         "CNNL_ACTIVATION_LEAKYRELU",
                                     "CNNL_ACTIVATION_TF_LEAKYRELU", "CNNL_ACTIVATION_CAFFE_RELU6",
                                     "CNNL_ACTIVATION_GLU",          "CNNL_ACTIVATION_SWISH",
                                     "CNNL_ACTIVATION_SILU",         "CNNL_ACTIVATION_HARDSIGMOID",
                                     "CNNL_ACTIVATION_HARDSWISH",    "CNNL_ACTIVATION_ELU_V2",
                                     "CNNL_ACTIVATION_LOGSIGMOID",   "CNNL_ACTIVATION_HARDSHRINK",
                                     "CNNL_ACTIVATION_SOFTSHRINK"}};
  Family activation_preference{"cnnlActivationPreference_t",
                               1600,
                               {"CNNL_ACTIVATION_FAST", "CNNL_ACTIVATION_HIGH_PRECISION"}};
  Family convolution{"cnnlConvolutionForwardAlgo_t", 1700, {"CNNL_CONVOLUTION_FWD_ALGO_DIRECT"}};
  Family convolution_preference{
      "cnnlConvolutionFwdPreference_t", 1800, {"CNNL_CONVOLUTION_FWD_FASTEST"}};
  Family trigon{"cnnlTrigonFunctionMode_t",
                1900,
                {"CNNL_TRIGON_SIN", "CNNL_TRIGON_COS", "CNNL_TRIGON_TAN", "CNNL_TRIGON_ASIN",
                 "CNNL_TRIGON_ACOS", "CNNL_TRIGON_ATAN", "CNNL_TRIGON_SINH", "CNNL_TRIGON_COSH",
                 "CNNL_TRIGON_ASINH", "CNNL_TRIGON_ACOSH", "CNNL_TRIGON_ATANH"}};
  Family bits{"cnnlBitComputeOp_t",
              2300,
              {"CNNL_CYCLE_BAND_OP", "CNNL_CYCLE_BOR_OP", "CNNL_CYCLE_BXOR_OP", "CNNL_BNOT_OP"}};
  Family scatter{"cnnlScatterMode_t",
                 2400,
                 {"CNNL_SCATTER", "CNNL_SCATTER_ADD", "CNNL_SCATTER_MAX", "CNNL_SCATTER_MIN"}};
  std::vector<Cast> casts;
  Family cast{"cnnlCastDataType_t", 2000, CastNames()};

  std::vector<std::string> CastNames();
};

// The pairs for which integrations use an enumerator of this form, and no others.
std::vector<std::string> Families::CastNames() {
  const std::vector<std::pair<const char*, int>> types{
      {"HALF", kHalf},   {"FLOAT", kFloat}, {"BFLOAT16", kBfloat16}, {"DOUBLE", kDouble},
      {"INT8", kInt8},   {"INT16", kInt16}, {"INT32", kInt32},       {"INT64", kInt64},
      {"UINT8", kUint8}, {"BOOL", kBool}};
  const std::vector<std::pair<const char*, std::vector<const char*>>> known{
      {"BFLOAT16", {"FLOAT", "BOOL"}},
      {"BOOL", {"FLOAT", "HALF", "BFLOAT16", "INT32"}},
      {"DOUBLE", {"FLOAT"}},
      {"FLOAT", {"HALF", "BFLOAT16", "DOUBLE", "INT8", "INT16", "INT32", "INT64", "UINT8", "BOOL"}},
      {"HALF", {"FLOAT", "INT8", "INT16", "INT32", "INT64", "UINT8", "BOOL"}},
      {"INT8", {"FLOAT", "HALF", "INT16", "INT32"}},
      {"INT16", {"FLOAT", "HALF", "INT32"}},
      {"INT32", {"FLOAT", "HALF", "BFLOAT16", "INT8", "INT16", "INT64", "UINT8", "BOOL"}},
      {"INT64", {"FLOAT", "HALF", "INT32"}},
      {"UINT8", {"FLOAT", "HALF", "INT32", "INT64"}}};
  const auto type_of = [&](const std::string& name) {
    const auto found = std::find_if(types.begin(), types.end(),
                                    [&](const auto& type) { return type.first == name; });
    return found->second;
  };
  std::vector<std::string> names;
  for (const auto& [from, targets] : known) {
    for (const char* to : targets) {
      casts.push_back({type_of(from), type_of(to)});
      names.push_back(std::string("CNNL_CAST_") + from + "_TO_" + to);
    }
  }
  return names;
}

void PublishKnown() {
  const std::vector<std::pair<const char*, int>> known{
      {"CNNL_OP_TENSOR_ADD", 0},
      {"CNNL_LOG_E", 0},
      {"CNNL_LOG_2", 1},
      {"CNNL_LOG_10", 2},
      {"CNNL_NOT_PROPAGATE_NAN", 0},
      {"CNNL_PROPAGATE_NAN", 1},
      {"CNNL_COMPUTATION_FAST", 0},
      {"CNNL_COMPUTATION_HIGH_PRECISION", 1},
      {"CNNL_COMPUTATION_ULTRAHIGH_PRECISION", 2},
      {"CNNL_POINTER_MODE_HOST", 0},
      {"CNNL_POINTER_MODE_DEVICE", 1},
      {"CNNL_POOLING_MAX", 0},
      {"CNNL_POOLING_AVERAGE_COUNT_INCLUDE_PADDING", 1},
      {"CNNL_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING", 2},
      {"CNNL_POOLING_FIXED", 3},
  };
  for (const auto& [name, value] : known) PublishEnum(name, value);
}

const Families& TheFamilies() {
  static const Families& families = *new Families;
  return families;
}

// When the library is loaded: a caller asks before its first op.
const bool kPublished = [] {
  TheFamilies();
  PublishKnown();
  return true;
}();

}  // namespace

Softmax SoftmaxOf(int value) { return Softmax(TheFamilies().softmax.IndexOf(value)); }
SoftmaxMode SoftmaxModeOf(int value) {
  return SoftmaxMode(TheFamilies().softmax_mode.IndexOf(value));
}
InterpMode InterpModeOf(int value) { return InterpMode(TheFamilies().interp.IndexOf(value)); }
InterpGrid InterpGridOf(int value) { return InterpGrid(TheFamilies().interp_grid.IndexOf(value)); }
OpTensorKind OpTensorKindOf(int value) {
  if (value == 0) return OpTensorKind::kAdd;
  return OpTensorKind(TheFamilies().op_tensor.IndexOf(value) + 1);
}
Logic LogicOf(int value) { return Logic(TheFamilies().logic.IndexOf(value)); }
LogBase LogBaseOf(int value) {
  if (value < 0 || value > 2) {
    throw Misuse("unknown-enum", Fault::kInvalidArgument, Text(value, " is no cnnlLogBase_t"));
  }
  return LogBase(value);
}
Trigon TrigonOf(int value) { return Trigon(TheFamilies().trigon.IndexOf(value)); }
Bits BitsOf(int value) { return Bits(TheFamilies().bits.IndexOf(value)); }
ScatterMode ScatterModeOf(int value) { return ScatterMode(TheFamilies().scatter.IndexOf(value)); }
ActivationMode ActivationModeOf(int value) {
  return ActivationMode(TheFamilies().activation.IndexOf(value));
}
void CheckActivationPreference(int value) { TheFamilies().activation_preference.IndexOf(value); }
void CheckConvolutionAlgorithm(int value) { TheFamilies().convolution.IndexOf(value); }
void CheckConvolutionPreference(int value) { TheFamilies().convolution_preference.IndexOf(value); }
int DirectConvolution() { return TheFamilies().convolution.ValueAt(0); }
Cast CastOf(int value) { return TheFamilies().casts[TheFamilies().cast.IndexOf(value)]; }

}  // namespace mlusim::network
