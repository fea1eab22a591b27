#include "kernels/moves/strided_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"
#include "kernels/moves/items.h"
#include "kernels/moves/transpose.h"

namespace headrace::cpu {
namespace {

// Sides of the blocks in which a matrix is transposed, so that both sides stay in the first cache:
// of a matrix of few rows or columns the other way is longer.
constexpr Size kBlock = 64, kFew = 8, kLongBlock = 1024;

template <class T>
HEADRACE_INLINE void RepeatItem(char* to, const char* from, Size count) {
  T item;
  std::memcpy(&item, from, sizeof(T));
  for (Size i = 0; i < count; ++i) std::memcpy(to + i * Size{sizeof(T)}, &item, sizeof(T));
}

// One element `count` times, one behind the other.
void RepeatItemOf(Size item, char* to, const char* from, Size count) {
  switch (item) {
    case 1:
      std::memset(to, *from, static_cast<std::size_t>(count));
      return;
    case 2:
      return RepeatItem<std::uint16_t>(to, from, count);
    case 4:
      return RepeatItem<std::uint32_t>(to, from, count);
    case 8:
      return RepeatItem<std::uint64_t>(to, from, count);
    default:
      return CopyItems<16>(to, 16, from, 0, count);
  }
}

// Into how many blocks, alike but for the last one, an axis is cut.
Size CountBlocks(Size count, Size across) {
  const Size block = across <= kFew ? kLongBlock : kBlock;
  return CeilDiv(count, block);
}
Size BlockSide(Size count, Size across) {
  const Size blocks = CountBlocks(count, across);
  return CeilDiv(count, blocks);
}

// The axes in the order in which they are written; those that go on where the next one ends are
// one.
std::vector<CopyAxis> Joined(const std::vector<CopyAxis>& axes, Size item) {
  std::vector<CopyAxis> sorted, joined;
  for (const CopyAxis& axis : axes) {
    if (axis.count != 1) sorted.push_back(axis);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const CopyAxis& a, const CopyAxis& b) { return a.to > b.to; });
  for (const CopyAxis& axis : sorted) {
    if (!joined.empty() && joined.back().from == axis.from * axis.count &&
        joined.back().to == axis.to * axis.count) {
      joined.back() = {joined.back().count * axis.count, axis.from, axis.to};
    } else {
      joined.push_back(axis);
    }
  }
  if (joined.empty()) joined.push_back({1, item, item});
  return joined;
}

// Whether a run stays together and is as long as an element may be: so it is moved as one.
bool IsElement(const CopyAxis& run, Size item) {
  const Size bytes = run.count * item;
  return run.from == item && run.to == item &&
         (bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
}

// Moves both pointers to where step `index` over the axes is.
HEADRACE_INLINE void MoveTo(const std::vector<CopyAxis>& axes, Size index, const char*& from,
                            char*& to) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    from += index % axes[i].count * axes[i].from;
    to += index % axes[i].count * axes[i].to;
    index /= axes[i].count;
  }
}

}  // namespace

StridedCopy::StridedCopy(const char* from, char* to, const std::vector<CopyAxis>& axes, Size item)
    : from_(from), to_(to), axes_(Joined(axes, item)), item_(item) {
  inner_ = axes_.back();
  axes_.pop_back();
  if (!axes_.empty() && IsElement(inner_, item)) {
    item_ = inner_.count * item;
    inner_ = axes_.back();
    axes_.pop_back();
  }
  const Size part_bytes =
      inner_.to == item_ && inner_.from != item_ && inner_.from != 0 && TakeMiddle() ? CutBlocks()
                                                                                     : CutRows();
  for (const CopyAxis& axis : axes_) parts_ *= axis.count;
  grain_ = GrainOf(kCopyPartBytes, part_bytes);
}

// Finds the axis along which is read in order: with the inner one it is a matrix to be transposed.
bool StridedCopy::TakeMiddle() {
  const auto found = std::find_if(axes_.begin(), axes_.end(),
                                  [&](const CopyAxis& axis) { return axis.from == item_; });
  if (found == axes_.end()) return false;
  middle_ = *found;
  axes_.erase(found);
  return true;
}

// Parts are blocks of matrices. Returns the bytes of one.
Size StridedCopy::CutBlocks() {
  transposes_ = true;
  parts_ = CountBlocks(middle_.count, inner_.count) * CountBlocks(inner_.count, middle_.count);
  return BlockSide(middle_.count, inner_.count) * BlockSide(inner_.count, middle_.count) * item_;
}

// Parts are rows. Returns the bytes of one.
Size StridedCopy::CutRows() {
  const Size bytes = inner_.count * item_;
  if (inner_.to == item_ && inner_.from == item_ && axes_.empty() && bytes > kCopyPartBytes) {
    Size pieces = 1;  // of a single long run
    while (bytes / pieces > kCopyPartBytes && inner_.count % (pieces * 2) == 0) pieces *= 2;
    axes_.push_back({pieces, bytes / pieces, bytes / pieces});
    inner_.count /= pieces;
  }
  if (!axes_.empty()) {
    middle_ = axes_.back();
    axes_.pop_back();
  }
  parts_ = middle_.count;
  return inner_.count * item_;
}

void StridedCopy::Run() const {
  ParallelFor(parts_, grain_, [this](Size begin, Size end) {
    if (transposes_) {
      Blocks(begin, end);
    } else {
      Rows(begin, end);
    }
  });
}

void StridedCopy::Rows(Size begin, Size end) const {
  for (Size part = begin; part < end;) {
    const char* from = from_;
    char* to = to_;
    const Size first = part % middle_.count;
    MoveTo(axes_, part / middle_.count, from, to);
    const Size last = std::min(middle_.count, first + end - part);
    if (inner_.from == item_ && inner_.to == item_) {
      for (Size m = first; m < last; ++m) {
        CopyRun(to + m * middle_.to, from + m * middle_.from, inner_.count * item_);
      }
    } else if (inner_.from == 0 && inner_.to == item_) {
      for (Size m = first; m < last; ++m) {
        RepeatItemOf(item_, to + m * middle_.to, from + m * middle_.from, inner_.count);
      }
    } else {
      for (Size m = first; m < last; ++m) {
        CopyItemsOf(item_, to + m * middle_.to, inner_.to, from + m * middle_.from, inner_.from,
                    inner_.count);
      }
    }
    part += last - first;
  }
}

void StridedCopy::Blocks(Size begin, Size end) const {
  const Size width = BlockSide(inner_.count, middle_.count);
  const Size height = BlockSide(middle_.count, inner_.count);
  const Size across = CountBlocks(inner_.count, middle_.count);
  const Size blocks = across * CountBlocks(middle_.count, inner_.count);
  const CopyAxis last = axes_.empty() ? CopyAxis{1, 0, 0} : axes_.back();
  for (Size part = begin; part < end;) {
    const Size c = part % blocks % across * width, r = part % blocks / across * height;
    const char* from = from_ + c * inner_.from + r * item_;
    char* to = to_ + r * middle_.to + c * item_;
    const Size matrix = part / blocks;
    MoveTo(axes_, matrix, from, to);
    // Small matrices follow each other: where the next one lies is not worth a division.
    const Size count = blocks > 1 ? 1 : std::min(last.count - matrix % last.count, end - part);
    part += count;
    for (Size i = 0; i < count; ++i, from += last.from, to += last.to) {
      Transpose(from, inner_.from, to, middle_.to, std::min(height, middle_.count - r),
                std::min(width, inner_.count - c), item_);
    }
  }
}

}  // namespace headrace::cpu
