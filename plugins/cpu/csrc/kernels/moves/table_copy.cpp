#include "kernels/moves/table_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/machine/thread_pool.h"
#include "kernels/moves/items.h"

namespace headrace::cpu {
namespace {

// Runs of fewer elements, on average, are not worth being copied as runs.
constexpr Size kShortRun = 4;

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

// How many indices from `first` on read positions one after another, or all the filling.
Size Together(const TableAxis& axis, Size first) {
  const std::int32_t* position = axis.table.data() + first;
  const std::int32_t step = *position < 0 ? 0 : 1;
  const Size most = axis.count - first;
  Size count = 1;
  while (count < most && position[count] == position[count - 1] + step) ++count;
  return count;
}

}  // namespace

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
  for (Size i = 0; i < inner.count;) {
    const Size first = inner.table[static_cast<std::size_t>(i)], count = Together(inner, i);
    runs_.push_back({i * run, first < 0 ? -1 : first * run, count * run});
    i += count;
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
  ParallelFor(rows_, GrainOf(kCopyPartBytes, row_bytes_),
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
