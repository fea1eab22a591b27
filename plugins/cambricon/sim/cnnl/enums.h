// Enumerators whose numbers no public header has shown. The stand-in gives them numbers of its own,
// drawn anew from each seed, so that a caller that guesses fails here; mlusim_enum() tells them.
#pragma once

#include <string>
#include <vector>

namespace mlusim::network {

class Family {
 public:
  // Publishes the names. `first` keeps the numbers of two families apart.
  Family(const char* type, int first, std::vector<std::string> names);

  // The place of the enumerator in the list of names. Throws Misuse when the number is none of
  // them.
  int IndexOf(int value) const;
  int ValueAt(int index) const { return values_[index]; }

 private:
  const char* type_;
  std::vector<int> values_;
};

enum class Softmax { kFast, kAccurate, kLog };
enum class SoftmaxMode { kHigh, kMedium, kLow };
enum class InterpMode { kNearest, kLinear, kBilinear, kTrilinear, kBicubic };
// Of cnnlInterpCoordinateTransformationMode_t, by the names that callers use.
enum class InterpGrid { kAlgo0, kAlgo2, kAlgo3 };
enum class OpTensorKind { kAdd, kSub, kMul };
enum class Logic {
  kEqual,
  kNotEqual,
  kGreater,
  kGreaterEqual,
  kLess,
  kLessEqual,
  kAnd,
  kOr,
  kXor,
  kNot
};
enum class LogBase { kE, kTwo, kTen };
// Of cnnlTrigonFunctionMode_t.
enum class Trigon { kSin, kCos, kTan, kAsin, kAcos, kAtan, kSinh, kCosh, kAsinh, kAcosh, kAtanh };
enum class Bits { kAnd, kOr, kXor, kNot };
enum class ScatterMode { kReplace, kAdd, kMax, kMin };
enum class ActivationMode {
  kSigmoid,
  kRelu,
  kRelu6,
  kTanh,
  kClippedRelu,
  kElu,
  kIdentity,
  kSelu,
  kGelu,
  kLeakyRelu,
  kTfLeakyRelu,
  kCaffeRelu6,
  kGlu,
  kSwish,
  kSilu,
  kHardSigmoid,
  kHardSwish,
  kEluV2,
  kLogSigmoid,
  kHardShrink,
  kSoftShrink,
};

Softmax SoftmaxOf(int value);
SoftmaxMode SoftmaxModeOf(int value);
InterpMode InterpModeOf(int value);
InterpGrid InterpGridOf(int value);
OpTensorKind OpTensorKindOf(int value);
Logic LogicOf(int value);
LogBase LogBaseOf(int value);
Trigon TrigonOf(int value);
Bits BitsOf(int value);
ScatterMode ScatterModeOf(int value);
ActivationMode ActivationModeOf(int value);
void CheckActivationPreference(int value);
void CheckConvolutionAlgorithm(int value);
void CheckConvolutionPreference(int value);
int DirectConvolution();

// From and to which data type.
struct Cast {
  int from, to;
};
Cast CastOf(int value);

}  // namespace mlusim::network
