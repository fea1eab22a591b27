// Elementwise ops in one pass over memory: a small program, run block by block in the first cache.
#pragma once

#include <vector>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// What a step does with its operands a, b and c. Truth is 1 and 0.
enum class Op : int {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMaximum,
  kMinimum,
  kPower,
  kNegative,
  kAbs,
  kFloor,
  kCeil,
  kRound,
  kSqrt,
  kReciprocal,
  kExp,
  kLog,
  kErf,
  kSigmoid,
  kTanh,
  kAsin,
  kAcos,
  kAtan,
  kSin,
  kCos,
  kRelu,
  kClip,         // between b and c
  kLeakyRelu,    // a < 0 ? a * b : a
  kHardSigmoid,  // clip(a * b + c, 0, 1)
  kHardSwish,    // a * clip(a / 6 + 1 / 2, 0, 1)
  kSwish,        // a * sigmoid(b * a)
  kEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kNot,
  kIsNan,
  kWhere,  // a ? b : c
  kIdentity,
  kDequantize,    // (a - c) * b
  kQuantizeInt8,  // round(a / b) + c as that integer; see quantize.h
  kQuantizeUint8,
  kQuantizeInt16,
  kQuantizeUint16,
  kFloat16,  // the nearest float that has 16 bits
  kBfloat16,
  kCount
};

// Inputs, constants and results of steps, together.
constexpr std::size_t kMostOperands = 64;

// Operands and result by number: first the inputs, then the constants, then what steps made.
struct Step {
  Op op;
  int a, b, c;
};

// How elements of an input or output lie in memory; all are computed as float.
enum class Item : int {
  kFloat,
  kBool,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kInt64,
  kFloat16,
  kBfloat16
};

struct ProgramInput {
  const void* data;
  Item item;
  std::vector<Size> shape;  // broadcasts to that of the output
};

// An input as it is walked beside the output.
struct WalkedInput {
  // One over which the input goes on evenly, by the elements of the output.
  struct Axis {
    Size length, stride;
  };

  const char* data;
  Item item;
  std::vector<Axis> axes;  // outermost first; at least one
  bool is_steady;          // the same in every block

  // After how many elements of the output it begins again; 0 if it does not.
  Size Period() const;
  // Of the first element of a row, as the innermost axis is.
  const char* Row(Size row) const;
};

class Program {
 public:
  // Sound programs only: operands come before the step and are kMostOperands at most, shapes fit,
  // the output has elements.
  Program(const std::vector<ProgramInput>& inputs, std::vector<float> constants,
          std::vector<Step> steps, const std::vector<Size>& shape, void* y, Item made);

  // With all threads. y may be the memory of an input that has its shape and item.
  void Run() const;

 private:
  struct Operands;  // where they are, for one thread

  void AssignBuffers();
  void FillSteady(Operands* own) const;
  void ReadInputs(Size first, Size count, Operands* own) const;
  void Blocks(Size begin, Size end) const;

  std::vector<WalkedInput> inputs_;
  std::vector<float> constants_;
  std::vector<Step> steps_;
  std::vector<int> buffers_;  // of each operand; of an input: where it is put if it must be moved
  int buffer_count_ = 0;
  Size total_ = 1;
  Size block_ = 1;  // elements of a block
  char* y_;
  Item made_;
};

// Rows of `length` elements that are `step` apart, 0 or 1; from row to row `stride`.
struct ProgramRows {
  const char* from;
  Size length, step, count, stride;
};

constexpr Size kProgramSlack = 16;

struct ProgramTable {
  // Does all steps over so many vectors of sixteen; `operands` has a pointer for each operand.
  void (*run)(const Step* steps, Size count, Size first_made, float* const* operands, Size vectors);
  // The elements of rows as floats, one row after another. What is made may be followed by anything
  // up to kProgramSlack floats.
  void (*load)(const ProgramRows& rows, Item item, float* to);
  // Floats as elements that are not: truth, whole numbers within the range of theirs, halves.
  void (*store)(const float* from, Item item, Size count, char* to);
};
HEADRACE_TABLE(ProgramTable, Programs)

}  // namespace headrace::cpu
