#include "kernels/moves/copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"
#include "kernels/moves/transpose.h"

namespace headrace::cpu {
namespace {

// Bytes that are worth a part of their own.
constexpr Size kPartBytes = 1 << 16;

// Runs of fewer elements, on average, are not worth being copied as runs.
constexpr Size kShortRun = 4;

// Sides of the blocks in which a matrix is transposed, so that both sides stay in the first cache:
// of a matrix of few rows or columns the other way is longer.
constexpr Size kBlock = 64, kFew = 8, kLongBlock = 1024;

typedef std::int32_t Four __attribute__((vector_size(16)));
typedef std::int32_t LooseFour __attribute__((vector_size(16), aligned(1), may_alias));

HEADRACE_INLINE Four LoadFour(const char* p) { return *reinterpret_cast<const LooseFour*>(p); }
HEADRACE_INLINE void StoreFour(char* p, Four v) { *reinterpret_cast<LooseFour*>(p) = v; }

// Short runs are the rule, and a call of memcpy costs more than they do.
HEADRACE_INLINE void CopyRun(char* to, const char* from, Size bytes) {
  if (bytes > 256) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  Size i = 0;
  for (; i + 16 <= bytes; i += 16) StoreFour(to + i, LoadFour(from + i));
  for (; i + 4 <= bytes; i += 4) std::memcpy(to + i, from + i, 4);
  for (; i < bytes; ++i) to[i] = from[i];
}

// What numpy may have put anywhere.
template <class T>
struct Loose {
  typedef T Type __attribute__((aligned(1), may_alias));
};

template <class T>
void TakeItems(char* __restrict to, const char* __restrict from,
               const std::int32_t* __restrict positions, Size count) {
  using Item = typename Loose<T>::Type;
  auto* y = reinterpret_cast<Item*>(to);
  const auto* x = reinterpret_cast<const Item*>(from);
  for (Size i = 0; i < count; ++i) y[i] = x[positions[i]];
}

// Each of `pairs` elements twice, as in images of doubled size.
template <class T>
void TakeTwice(char* __restrict to, const char* __restrict from, Size pairs) {
  using Item = typename Loose<T>::Type;
  auto* y = reinterpret_cast<Item*>(to);
  const auto* x = reinterpret_cast<const Item*>(from);
  HEADRACE_NO_ALIAS_LOOP
  for (Size i = 0; i < pairs; ++i) {
    y[2 * i] = x[i];
    y[2 * i + 1] = x[i];
  }
}

// Calls `f` with an unsigned number of `bytes`, 1, 2, 4 or 8.
template <class F>
void WithItem(Size bytes, F f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

template <Size kItem>
HEADRACE_INLINE void CopyItems(char* to, Size to_step, const char* from, Size from_step,
                               Size count) {
  for (Size i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, kItem);
}

void CopyItemsOf(Size item, char* to, Size to_step, const char* from, Size from_step, Size count) {
  switch (item) {
    case 1:
      return CopyItems<1>(to, to_step, from, from_step, count);
    case 2:
      return CopyItems<2>(to, to_step, from, from_step, count);
    case 4:
      return CopyItems<4>(to, to_step, from, from_step, count);
    case 8:
      return CopyItems<8>(to, to_step, from, from_step, count);
    default:
      return CopyItems<16>(to, to_step, from, from_step, count);
  }
}

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

}  // namespace

StridedCopy::StridedCopy(const char* from, char* to, std::vector<CopyAxis> axes, Size item)
    : from_(from), to_(to), item_(item) {
  // What is written lies in order; axes that go on where the next one ends are one.
  std::vector<CopyAxis> kept;
  for (const CopyAxis& axis : axes) {
    if (axis.count != 1) kept.push_back(axis);
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const CopyAxis& a, const CopyAxis& b) { return a.to > b.to; });
  for (const CopyAxis& axis : kept) {
    if (!axes_.empty() && axes_.back().from == axis.from * axis.count &&
        axes_.back().to == axis.to * axis.count) {
      axes_.back() = {axes_.back().count * axis.count, axis.from, axis.to};
    } else {
      axes_.push_back(axis);
    }
  }
  if (axes_.empty()) axes_.push_back({1, item, item});
  inner_ = axes_.back();
  axes_.pop_back();
  const auto read_in_order = std::find_if(axes_.begin(), axes_.end(),
                                          [&](const CopyAxis& axis) { return axis.from == item; });
  Size part_bytes;
  if (inner_.to == item && inner_.from != item && inner_.from != 0 &&
      read_in_order != axes_.end()) {
    transposes_ = true;
    middle_ = *read_in_order;
    axes_.erase(read_in_order);
    parts_ = CountBlocks(middle_.count, inner_.count) * CountBlocks(inner_.count, middle_.count);
    part_bytes =
        BlockSide(middle_.count, inner_.count) * BlockSide(inner_.count, middle_.count) * item;
  } else {
    if (inner_.to == item && inner_.from == item) {  // a run of bytes, cut where it is long
      Size bytes = inner_.count * item, pieces = 1;
      if (axes_.empty() && bytes > kPartBytes) {
        while (bytes / pieces > kPartBytes && inner_.count % (pieces * 2) == 0) pieces *= 2;
        axes_.push_back({pieces, bytes / pieces, bytes / pieces});
        inner_.count /= pieces;
      }
    }
    if (!axes_.empty()) {
      middle_ = axes_.back();
      axes_.pop_back();
    }
    parts_ = middle_.count;
    part_bytes = inner_.count * item;
  }
  for (const CopyAxis& axis : axes_) parts_ *= axis.count;
  grain_ = GrainOf(kPartBytes, part_bytes);
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
    Size rest = part / middle_.count;
    for (std::size_t i = axes_.size(); i-- > 0;) {
      from += rest % axes_[i].count * axes_[i].from;
      to += rest % axes_[i].count * axes_[i].to;
      rest /= axes_[i].count;
    }
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
    Size rest = part / blocks;
    // Small matrices follow each other: where the next one lies is not worth a division.
    const Size count = blocks > 1 ? 1 : std::min(last.count - rest % last.count, end - part);
    for (std::size_t i = axes_.size(); i-- > 0;) {
      from += rest % axes_[i].count * axes_[i].from;
      to += rest % axes_[i].count * axes_[i].to;
      rest /= axes_[i].count;
    }
    part += count;
    for (Size i = 0; i < count; ++i, from += last.from, to += last.to) {
      Transpose(from, inner_.from, to, middle_.to, std::min(height, middle_.count - r),
                std::min(width, inner_.count - c), item_);
    }
  }
}

TableCopy::TableCopy(const char* from, char* to, const char* fill, std::vector<TableAxis> axes,
                     Size item)
    : from_(from), to_(to), fill_(fill), item_(item) {
  Size run = item;  // bytes that are copied whole
  while (!axes.empty() && axes.back().table.empty()) {
    run *= axes.back().count;
    axes.pop_back();
  }
  if (axes.empty()) axes.push_back({1, 1, {0}});
  const TableAxis& inner = axes.back();
  for (Size i = 0; i < inner.count; ++i) {
    const Size position = inner.table[static_cast<std::size_t>(i)];
    const Size place = position < 0 ? -1 : position * run;
    const bool goes_on =
        !runs_.empty() &&
        (place < 0 ? runs_.back().from < 0
                   : runs_.back().from >= 0 && runs_.back().from + runs_.back().count == place);
    if (goes_on) {
      runs_.back().count += run;
    } else {
      runs_.push_back({i * run, place, run});
    }
  }
  const bool copies =
      std::none_of(runs_.begin(), runs_.end(), [](const Piece& piece) { return piece.from < 0; });
  const Size run_count = static_cast<Size>(runs_.size());
  const bool is_item = run == 1 || run == 2 || run == 4 || run == 8;
  if (is_item && copies && run_count * kShortRun > inner.count) positions_ = inner.table;
  is_twice_ = !positions_.empty() && inner.count % 2 == 0;
  for (Size i = 0; i < inner.count && is_twice_; ++i) {
    is_twice_ = inner.table[static_cast<std::size_t>(i)] == inner.table[0] + i / 2;
  }
  run_bytes_ = run;
  row_bytes_ = inner.count * run;
  Size stride = inner.length * run;
  axes.pop_back();
  if (axes.empty()) axes.push_back({1, 1, {}});
  outer_ = std::move(axes);
  strides_.resize(outer_.size());
  for (std::size_t i = outer_.size(); i-- > 0;) {
    strides_[i] = stride;
    stride *= outer_[i].length;
    rows_ *= outer_[i].count;
  }
}

void TableCopy::Run() const {
  if (row_bytes_ == 0) return;
  ParallelFor(rows_, GrainOf(kPartBytes, row_bytes_),
              [this](Size begin, Size end) { Rows(begin, end); });
}

void TableCopy::Rows(Size begin, Size end) const {
  const TableAxis& last = outer_.back();
  const auto position_of = [](const TableAxis& axis, Size index) {
    return axis.table.empty() ? index : Size{axis.table[static_cast<std::size_t>(index)]};
  };
  const char* before = nullptr;  // what the row before was made of
  for (Size row = begin; row < end;) {
    const Size first = row % last.count, stop = std::min(last.count, first + end - row);
    Size offset = 0, rest = row / last.count;
    bool inside = true;
    for (std::size_t i = outer_.size() - 1; i-- > 0;) {
      const Size position = position_of(outer_[i], rest % outer_[i].count);
      inside = inside && position >= 0;
      offset += position * strides_[i];
      rest /= outer_[i].count;
    }
    for (Size index = first; index < stop; ++index, ++row) {
      char* to = to_ + row * row_bytes_;
      const Size position = position_of(last, index);
      if (!inside || position < 0) {
        Fill(to, row_bytes_);
        before = nullptr;
        continue;
      }
      const char* from = from_ + offset + position * strides_.back();
      if (from == before) {  // as where rows are repeated
        CopyRun(to, to - row_bytes_, row_bytes_);
      } else {
        Row(to, from);
      }
      before = from;
    }
  }
}

void TableCopy::Row(char* to, const char* from) const {
  if (!positions_.empty()) {
    const std::int32_t* positions = positions_.data();
    const Size count = static_cast<Size>(positions_.size());
    return WithItem(run_bytes_, [=](auto item) {
      using T = decltype(item);
      if (is_twice_) {
        TakeTwice<T>(to, from + positions[0] * Size{sizeof(T)}, count / 2);
      } else {
        TakeItems<T>(to, from, positions, count);
      }
    });
  }
  for (const Piece& piece : runs_) {
    if (piece.from < 0) {
      Fill(to + piece.to, piece.count);
    } else {
      CopyRun(to + piece.to, from + piece.from, piece.count);
    }
  }
}

void TableCopy::Fill(char* to, Size bytes) const {
  if (fill_ == nullptr) {
    std::memset(to, 0, static_cast<std::size_t>(bytes));
  } else {
    CopyItemsOf(item_, to, item_, fill_, 0, bytes / item_);
  }
}

}  // namespace headrace::cpu
