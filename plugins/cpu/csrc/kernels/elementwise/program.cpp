#include "kernels/elementwise/program.h"

#include <algorithm>
#include <cstring>

#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

constexpr Size kVector = 16;

// Elements of a block: a dozen buffers of them stay in the first cache.
constexpr Size kBlock = 512;

// An innermost axis at least this long is not cut across: what repeats along the others is read
// where it lies.
constexpr Size kLongRow = 64;

// Elements times steps that are worth a part of their own.
constexpr Size kPartWork = 1 << 15;

Size ItemBytes(Item item) {
  switch (item) {
    case Item::kBool:
    case Item::kInt8:
    case Item::kUint8:
      return 1;
    case Item::kInt16:
    case Item::kUint16:
    case Item::kFloat16:
    case Item::kBfloat16:
      return 2;
    case Item::kInt64:
      return 8;
    default:
      return 4;
  }
}

void FillRun(const char* data, Item item, Size offset, Size step, Size count, float* to) {
  Programs().load(data + offset * ItemBytes(item), item, step, count, to);
}

// Of long rows of whole vectors, the longest block that they are multiples of.
Size BlockOf(Size inner, bool repeats) {
  if (!repeats || inner < kLongRow || inner % kVector != 0) return kBlock;
  Size block = std::min(kBlock, inner);
  while (inner % block != 0) block -= kVector;
  return block >= kLongRow ? block : kBlock;
}

using Strides = std::vector<Size>;  // elements, along each axis of the output

Strides StridesOf(const ProgramInput& input, std::size_t rank) {
  Strides strides(rank, 0);
  Size stride = 1;
  for (std::size_t i = input.shape.size(); i-- > 0;) {
    if (input.shape[i] != 1) strides[rank - input.shape.size() + i] = stride;
    stride *= input.shape[i];
  }
  return strides;
}

bool GoesOnEvenly(const Strides& strides, const std::vector<Size>& shape) {
  Size even = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != even) return false;
    even *= shape[axis];
  }
  return true;
}

// Axes over which all inputs go on evenly are one.
struct JoinedAxes {
  std::vector<std::size_t> innermost;  // axis of each, outermost first
  std::vector<Size> lengths;
};

JoinedAxes Join(const std::vector<Size>& shape, const std::vector<Strides>& inputs) {
  JoinedAxes joined;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    const bool joins = !joined.lengths.empty() &&
                       std::all_of(inputs.begin(), inputs.end(), [&](const Strides& strides) {
                         return strides[joined.innermost.back()] == strides[axis] * shape[axis];
                       });
    if (joins) {
      joined.innermost.back() = axis;
      joined.lengths.back() *= shape[axis];
    } else {
      joined.innermost.push_back(axis);
      joined.lengths.push_back(shape[axis]);
    }
  }
  return joined;
}

}  // namespace

Program::Program(std::vector<ProgramInput> inputs, std::vector<float> constants,
                 std::vector<Step> steps, const std::vector<Size>& shape, void* y, Item made)
    : constants_(std::move(constants)),
      steps_(std::move(steps)),
      y_(static_cast<char*>(y)),
      made_(made) {
  std::vector<Strides> strides;
  for (const ProgramInput& input : inputs) strides.push_back(StridesOf(input, shape.size()));
  const JoinedAxes axes = Join(shape, strides);
  for (const Size length : axes.lengths) total_ *= length;
  if (!axes.lengths.empty()) {
    inner_ = axes.lengths.back();
    outer_.assign(axes.lengths.begin(), axes.lengths.end() - 1);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool single =
        std::all_of(strides[i].begin(), strides[i].end(), [](Size s) { return s == 0; });
    Input input{static_cast<const char*>(inputs[i].data),
                inputs[i].item,
                GoesOnEvenly(strides[i], shape),
                single,
                0,
                {}};
    for (const std::size_t axis : axes.innermost) input.strides.push_back(strides[i][axis]);
    if (!input.strides.empty()) {
      input.step = input.strides.back();
      input.strides.pop_back();
    }
    inputs_.push_back(std::move(input));
  }
  block_ = BlockOf(inner_, !outer_.empty());
  AssignBuffers();
}

// Inputs and constants have buffers of their own, steps share: one is free after its last use.
void Program::AssignBuffers() {
  const int firm = static_cast<int>(inputs_.size() + constants_.size());
  const int count = static_cast<int>(steps_.size());
  std::vector<int> last(static_cast<std::size_t>(firm + count), -1);
  for (int i = 0; i < count; ++i) {
    const Step& step = steps_[static_cast<std::size_t>(i)];
    for (const int operand : {step.a, step.b, step.c}) last[static_cast<std::size_t>(operand)] = i;
  }
  std::vector<int> free;
  buffer_count_ = firm;
  for (int i = 0; i < firm; ++i) buffers_.push_back(i);
  for (int i = 0; i < count; ++i) {
    if (free.empty()) free.push_back(buffer_count_++);
    buffers_.push_back(free.back());
    free.pop_back();
    const Step& step = steps_[static_cast<std::size_t>(i)];
    int seen = -1, seen_too = -1;
    for (const int operand : {step.a, step.b, step.c}) {
      if (operand < firm || operand == seen || operand == seen_too) continue;
      if (last[static_cast<std::size_t>(operand)] == i) {
        free.push_back(buffers_[static_cast<std::size_t>(operand)]);
      }
      seen_too = seen;
      seen = operand;
    }
  }
}

Size Program::Offset(const Input& input, Size row) const {
  Size offset = 0;
  for (std::size_t axis = outer_.size(); axis-- > 0;) {
    offset += row % outer_[axis] * input.strides[axis];
    row /= outer_[axis];
  }
  return offset;
}

void Program::Fill(const Input& input, Size first, Size count, float* to) const {
  if (input.whole) return FillRun(input.data, input.item, first, 1, count, to);
  while (count > 0) {
    const Size row = first / inner_, place = first % inner_;
    const Size run = std::min(count, inner_ - place);
    FillRun(input.data, input.item, Offset(input, row) + place * input.step, input.step, run, to);
    first += run;
    to += run;
    count -= run;
  }
}

// Where the elements lie as they are needed; null when they must be put together first.
const float* Program::Direct(const Input& input, Size first, Size count) const {
  if (input.item != Item::kFloat || count % kVector != 0) return nullptr;
  const auto* data = reinterpret_cast<const float*>(input.data);
  if (input.whole) return data + first;
  const Size row = first / inner_, place = first % inner_;
  if (input.step != 1 || place + count > inner_) return nullptr;
  return data + Offset(input, row) + place;
}

void Program::Blocks(Size begin, Size end) const {
  auto* scratch = static_cast<float*>(
      ThreadScratch(static_cast<std::size_t>(buffer_count_) * kBlock * sizeof(float)));
  constexpr std::size_t kMost = 96;
  float* operands[kMost];
  const auto buffer = [&](std::size_t operand) { return scratch + buffers_[operand] * kBlock; };
  const std::size_t inputs = inputs_.size(), firm = inputs + constants_.size();
  const std::size_t count = firm + steps_.size(), last = count - 1;
  for (std::size_t i = 0; i < count; ++i) operands[i] = buffer(i);
  for (std::size_t i = inputs; i < firm; ++i) {
    std::fill(operands[i], operands[i] + kBlock, constants_[i - inputs]);
  }
  for (std::size_t i = 0; i < inputs; ++i) {
    if (inputs_[i].single) {
      FillRun(inputs_[i].data, inputs_[i].item, 0, 0, kBlock, operands[i]);
    }
  }
  const Size stop = std::min(end * block_, total_);
  for (Size first = begin * block_; first < stop; first += block_) {
    const Size some = std::min(block_, stop - first);
    const Size vectors = (some + kVector - 1) / kVector;
    for (std::size_t i = 0; i < inputs; ++i) {
      if (inputs_[i].single) continue;
      if (const float* direct = Direct(inputs_[i], first, some)) {
        operands[i] = const_cast<float*>(direct);  // steps write to what steps make
        continue;
      }
      operands[i] = buffer(i);
      Fill(inputs_[i], first, some, operands[i]);
      std::fill(operands[i] + some, operands[i] + vectors * kVector, 0.0f);
    }
    const bool in_place = made_ == Item::kFloat && some % kVector == 0;
    operands[last] = in_place ? reinterpret_cast<float*>(y_) + first : buffer(last);
    Programs().run(steps_.data(), static_cast<Size>(steps_.size()), static_cast<Size>(firm),
                   operands, vectors);
    if (in_place) continue;
    if (made_ == Item::kFloat) {
      std::memcpy(y_ + first * 4, operands[last], static_cast<std::size_t>(some) * 4);
    } else {
      Programs().store(operands[last], made_, some, y_ + first * ItemBytes(made_));
    }
  }
}

void Program::Run() const {
  const Size blocks = (total_ + block_ - 1) / block_;
  const Size work = block_ * static_cast<Size>(steps_.size());
  ParallelFor(blocks, std::max<Size>(1, kPartWork / work),
              [this](Size begin, Size end) { Blocks(begin, end); });
}

}  // namespace headrace::cpu
