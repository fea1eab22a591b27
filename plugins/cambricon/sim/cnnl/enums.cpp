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
  std::vector<Cast> casts;
  Family cast{"cnnlCastDataType_t", 2000, CastNames()};

  std::vector<std::string> CastNames();
};

// The pairs for which integrations use an enumerator of this form.
std::vector<std::string> Families::CastNames() {
  const std::vector<std::pair<int, const char*>> types{
      {kHalf, "HALF"},   {kFloat, "FLOAT"},   {kBfloat16, "BFLOAT16"}, {kDouble, "DOUBLE"},
      {kInt8, "INT8"},   {kInt16, "INT16"},   {kInt32, "INT32"},       {kInt64, "INT64"},
      {kUint8, "UINT8"}, {kUint16, "UINT16"}, {kUint32, "UINT32"},     {kUint64, "UINT64"},
      {kBool, "BOOL"}};
  std::vector<std::string> names;
  for (const auto& [from, from_name] : types) {
    for (const auto& [to, to_name] : types) {
      if (from == to) continue;
      casts.push_back({from, to});
      names.push_back(std::string("CNNL_CAST_") + from_name + "_TO_" + to_name);
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
ActivationMode ActivationModeOf(int value) {
  return ActivationMode(TheFamilies().activation.IndexOf(value));
}
void CheckActivationPreference(int value) { TheFamilies().activation_preference.IndexOf(value); }
void CheckConvolutionAlgorithm(int value) { TheFamilies().convolution.IndexOf(value); }
void CheckConvolutionPreference(int value) { TheFamilies().convolution_preference.IndexOf(value); }
int DirectConvolution() { return TheFamilies().convolution.ValueAt(0); }
Cast CastOf(int value) { return TheFamilies().casts[TheFamilies().cast.IndexOf(value)]; }

}  // namespace mlusim::network
