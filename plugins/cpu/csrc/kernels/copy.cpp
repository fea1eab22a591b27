#include "copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "thread_pool.h"

namespace headrace::cpu {
namespace {

// Bytes that are worth a part of their own.
constexpr Size kPartBytes = 1 << 16;

// Runs of fewer elements, on average, are not worth being copied as runs.
constexpr Size kShortRun = 4;

// Sides of the blocks in which a matrix is transposed, so that both sides stay in the first cache.
constexpr Size kBlock = 64;

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

void TakeWords(char* __restrict to, const char* __restrict from,
               const std::int32_t* __restrict positions, Size count) {
  for (Size i = 0; i < count; ++i) std::memcpy(to + 4 * i, from + 4 * Size{positions[i]}, 4);
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

// A matrix of kColumns x kRows elements of four bytes; both are 1 to 4.
template <int kRows, int kColumns>
HEADRACE_INLINE void TransposeFew(const char* from, Size from_step, char* to, Size to_step) {
  Four in[4] = {};
  for (int i = 0; i < kColumns; ++i) std::memcpy(&in[i], from + i * from_step, kRows * 4);
  const Four low = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
  const Four high = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
  const Four low_next = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
  const Four high_next = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
  const Four out[4] = {__builtin_shufflevector(low, low_next, 0, 1, 4, 5),
                       __builtin_shufflevector(low, low_next, 2, 3, 6, 7),
                       __builtin_shufflevector(high, high_next, 0, 1, 4, 5),
                       __builtin_shufflevector(high, high_next, 2, 3, 6, 7)};
  for (int i = 0; i < kRows; ++i) std::memcpy(to + i * to_step, &out[i], kColumns * 4);
}

template <int kColumns>
HEADRACE_INLINE void TransposeStrip(const char* from, Size from_step, char* to, Size to_step,
                                    Size rows) {
  for (; rows >= 4; rows -= 4, from += 16, to += 4 * to_step) {
    TransposeFew<4, kColumns>(from, from_step, to, to_step);
  }
  if (rows == 3) TransposeFew<3, kColumns>(from, from_step, to, to_step);
  if (rows == 2) TransposeFew<2, kColumns>(from, from_step, to, to_step);
  if (rows == 1) TransposeFew<1, kColumns>(from, from_step, to, to_step);
}

// `rows` elements that follow each other in `from` go `to_step` apart; `columns` that are
// `from_step` apart follow each other in `to`.
void Transpose(const char* from, Size from_step, char* to, Size to_step, Size rows, Size columns,
               Size item) {
  if (item != 4) {
    for (Size r = 0; r < rows; ++r) {
      CopyItemsOf(item, to + r * to_step, item, from + r * item, from_step, columns);
    }
    return;
  }
  for (; columns >= 4; columns -= 4, from += 4 * from_step, to += 16) {
    TransposeStrip<4>(from, from_step, to, to_step, rows);
  }
  if (columns == 3) TransposeStrip<3>(from, from_step, to, to_step, rows);
  if (columns == 2) TransposeStrip<2>(from, from_step, to, to_step, rows);
  if (columns == 1) TransposeStrip<1>(from, from_step, to, to_step, rows);
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
    const auto blocks = [](Size count) { return (count + kBlock - 1) / kBlock; };
    parts_ = blocks(middle_.count) * blocks(inner_.count);
    part_bytes = std::min(kBlock, middle_.count) * std::min(kBlock, inner_.count) * item;
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
  grain_ = std::max<Size>(1, kPartBytes / std::max<Size>(1, part_bytes));
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
  const Size across = (inner_.count + kBlock - 1) / kBlock;
  const Size down = (middle_.count + kBlock - 1) / kBlock;
  for (Size part = begin; part < end; ++part) {
    const Size c = part % across * kBlock, r = part / across % down * kBlock;
    const char* from = from_ + c * inner_.from + r * item_;
    char* to = to_ + r * middle_.to + c * item_;
    Size rest = part / across / down;
    for (std::size_t i = axes_.size(); i-- > 0;) {
      from += rest % axes_[i].count * axes_[i].from;
      to += rest % axes_[i].count * axes_[i].to;
      rest /= axes_[i].count;
    }
    Transpose(from, inner_.from, to, middle_.to, std::min(kBlock, middle_.count - r),
              std::min(kBlock, inner_.count - c), item_);
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
  if (run == 4 && copies && run_count * kShortRun > inner.count) words_ = inner.table;
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
  ParallelFor(rows_, std::max<Size>(1, kPartBytes / row_bytes_),
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
  if (!words_.empty()) {
    TakeWords(to, from, words_.data(), static_cast<Size>(words_.size()));
    return;
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
