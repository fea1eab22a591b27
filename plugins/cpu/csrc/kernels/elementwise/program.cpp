#include "kernels/elementwise/program.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/elementwise/broadcast.h"
#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

constexpr Size kVector = 16;

// Elements of a block: a dozen buffers of them stay in the first cache.
constexpr Size kBlock = 512;
constexpr Size kBuffer = kBlock + kProgramSlack;

// A block is not made shorter for the sake of a row.
constexpr Size kShortest = 64;

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

WalkedInput Walk(const ProgramInput& input, const std::vector<Size>& shape) {
  WalkedInput walked{static_cast<const char*>(input.data), input.item, {}, false};
  const std::vector<Size> strides = BroadcastStrides(input.shape, shape.size());
  auto& axes = walked.axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (!axes.empty() && axes.back().stride == strides[i] * shape[i]) {
      axes.back() = {axes.back().length * shape[i], strides[i]};
    } else {
      axes.push_back({shape[i], strides[i]});
    }
  }
  if (axes.empty()) axes.push_back({1, 0});
  return walked;
}

// A multiple of what inputs repeat, so that it is put together once, and of short rows. Long rows
// are multiples of it, so that they are read where they lie, and numbers that stand for one are
// filled in once. Where inputs want different blocks, some are put together each time.
Size ChooseBlock(const std::vector<WalkedInput>& inputs) {
  Size unit = kVector;
  for (const WalkedInput& input : inputs) {
    const Size period = input.Period(), row = input.axes.size() > 1 ? input.axes.back().length : 1;
    const Size both = std::lcm(unit, period != 0 ? period : row);
    if (both <= kBlock) unit = both;
  }
  Size block = kBlock / unit * unit;
  for (const WalkedInput& input : inputs) {
    const Size row = input.axes.back().length;
    if (input.axes.size() == 1 || row < block || row % unit != 0) continue;
    Size fitting = block;
    while (row % fitting != 0) fitting -= unit;
    if (fitting >= kShortest) block = fitting;
  }
  return block;
}

// `count` elements from `first` of the output on.
void Fill(const WalkedInput& input, Size first, Size count, float* to) {
  const std::size_t axes = input.axes.size();
  const WalkedInput::Axis inner = input.axes[axes - 1];
  const WalkedInput::Axis around = axes > 1 ? input.axes[axes - 2] : WalkedInput::Axis{1, 0};
  while (count > 0) {
    const Size row = axes > 1 ? first / inner.length : 0, place = first - row * inner.length;
    ProgramRows some{input.Row(row) + place * inner.stride * ItemBytes(input.item),
                     std::min(count, inner.length - place), inner.stride, 1, around.stride};
    if (some.length == inner.length) {
      some.count = std::min(count / inner.length, around.length - row % around.length);
    }
    Programs().load(some, input.item, to);
    first += some.length * some.count;
    to += some.length * some.count;
    count -= some.length * some.count;
  }
}

// The row of one number that all these elements are; -1 where there is none.
Size OnlyRow(const WalkedInput& input, Size first, Size count) {
  const WalkedInput::Axis inner = input.axes.back();
  if (inner.stride != 0) return -1;
  const Size row = first / inner.length;
  return first + count <= (row + 1) * inner.length ? row : -1;
}

// Where the elements lie as they are needed; null when they must be put together first.
const float* Direct(const WalkedInput& input, Size first, Size count) {
  const WalkedInput::Axis inner = input.axes.back();
  if (input.item != Item::kFloat || count % kVector != 0 || inner.stride != 1) return nullptr;
  const Size row = input.axes.size() > 1 ? first / inner.length : 0;
  const Size place = first - row * inner.length;
  if (place + count > inner.length) return nullptr;
  return reinterpret_cast<const float*>(input.Row(row)) + place;
}

}  // namespace

Size WalkedInput::Period() const {
  if (axes[0].stride != 0) return 0;
  Size period = 1;
  for (std::size_t i = 1; i < axes.size(); ++i) period *= axes[i].length;
  return period;
}

const char* WalkedInput::Row(Size row) const {
  if (axes.size() == 1) return data;
  Size offset = 0;
  for (std::size_t axis = axes.size() - 2; axis > 0; --axis) {
    offset += row % axes[axis].length * axes[axis].stride;
    row /= axes[axis].length;
  }
  return data + (offset + row * axes[0].stride) * ItemBytes(item);
}

Program::Program(const std::vector<ProgramInput>& inputs, std::vector<float> constants,
                 std::vector<Step> steps, const std::vector<Size>& shape, void* y, Item made)
    : constants_(std::move(constants)),
      steps_(std::move(steps)),
      y_(static_cast<char*>(y)),
      made_(made) {
  for (const Size length : shape) total_ *= length;
  for (const ProgramInput& input : inputs) inputs_.push_back(Walk(input, shape));
  block_ = ChooseBlock(inputs_);
  for (WalkedInput& input : inputs_) {
    const Size period = input.Period();
    input.is_steady = period != 0 && block_ % period == 0;
  }
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
    for (const int operand : {step.a, step.b, step.c}) {
      int& use = last[static_cast<std::size_t>(operand)];
      if (operand < firm || use != i) continue;
      free.push_back(buffers_[static_cast<std::size_t>(operand)]);
      use = -1;  // a step may name it twice
    }
  }
}

struct Program::Operands {
  float* scratch;
  float* at[kMostOperands];  // of an input, also where it lies, if that is as steps read it
  Size held[kMostOperands];  // the row whose one number fills the buffer of an input; -1: none does

  float* Buffer(int index) const { return scratch + index * kBuffer; }
};

// What is the same in every block: constants, and inputs that a block has whole. Up to the end of
// its last vector, and no further: most of a block is nothing where the output is a few numbers.
void Program::FillSteady(Operands* own) const {
  const std::size_t inputs = inputs_.size();
  const Size all = std::min(block_, total_), filled = RoundUp(all, kVector);
  for (std::size_t i = 0; i < buffers_.size(); ++i) own->at[i] = own->Buffer(buffers_[i]);
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    std::fill_n(own->at[inputs + i], filled, constants_[i]);
  }
  std::fill_n(own->held, inputs, Size{-1});
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!inputs_[i].is_steady) continue;
    const Size period = inputs_[i].Period();
    Fill(inputs_[i], 0, all, own->at[i]);
    for (Size at = all; at < filled; ++at) own->at[i][at] = own->at[i][at - period];
  }
}

// The other inputs, for `count` elements of the output from `first` on; then zeros up to the end of
// the last vector.
void Program::ReadInputs(Size first, Size count, Operands* own) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_steady) continue;
    if (const float* direct = Direct(inputs_[i], first, count)) {
      own->at[i] = const_cast<float*>(direct);  // steps write to what steps make
      continue;
    }
    const Size row = OnlyRow(inputs_[i], first, count);
    if (row >= 0 && row == own->held[i]) continue;
    own->held[i] = row;
    own->at[i] = own->Buffer(buffers_[i]);
    Fill(inputs_[i], first, count, own->at[i]);
    std::fill(own->at[i] + count, own->at[i] + RoundUp(count, kVector), 0.0f);
  }
}

void Program::Blocks(Size begin, Size end) const {
  Operands own;
  own.scratch = static_cast<float*>(
      ThreadScratch(static_cast<std::size_t>(buffer_count_) * kBuffer * sizeof(float)));
  FillSteady(&own);
  const Size steps = static_cast<Size>(steps_.size());
  const std::size_t last = buffers_.size() - 1;
  const Size stop = std::min(end * block_, total_);
  for (Size first = begin * block_; first < stop; first += block_) {
    const Size some = std::min(block_, stop - first);
    ReadInputs(first, some, &own);
    const bool in_place = made_ == Item::kFloat && some % kVector == 0;
    own.at[last] = in_place ? reinterpret_cast<float*>(y_) + first : own.Buffer(buffers_[last]);
    Programs().run(steps_.data(), steps, static_cast<Size>(buffers_.size()) - steps, own.at,
                   CeilDiv(some, kVector));
    if (in_place) continue;
    if (made_ == Item::kFloat) {
      std::memcpy(y_ + first * 4, own.at[last], static_cast<std::size_t>(some) * 4);
    } else {
      Programs().store(own.at[last], made_, some, y_ + first * ItemBytes(made_));
    }
  }
}

void Program::Run() const {
  const Size blocks = CeilDiv(total_, block_);
  const Size work = block_ * static_cast<Size>(steps_.size());
  ParallelFor(blocks, GrainOf(kPartWork, work),
              [this](Size begin, Size end) { Blocks(begin, end); });
}

}  // namespace headrace::cpu
