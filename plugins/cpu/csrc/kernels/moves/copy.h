// Moves of elements that change nothing in them: with strides, and by tables of positions.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

// Axes of what is copied: how many elements, and bytes from one to the next on both sides.
struct CopyAxis {
  Size count;
  Size from;
  Size to;
};

// Copies elements from anywhere to anywhere; a transpose, a slice, a part of a concatenation.
// Elements of 1, 2, 4, 8 or 16 bytes. The two sides do not overlap.
class StridedCopy {
 public:
  // `axes` outermost first; their strides may be anything.
  StridedCopy(const char* from, char* to, std::vector<CopyAxis> axes, Size item);

  // With all threads.
  void Run() const;

 private:
  void Rows(Size begin, Size end) const;
  void Blocks(Size begin, Size end) const;

  const char* from_;
  char* to_;
  std::vector<CopyAxis> axes_;  // all but the inner ones
  CopyAxis middle_{1, 0, 0};    // of a part: row by row
  CopyAxis inner_{1, 0, 0};
  Size item_;
  bool transposes_ = false;  // middle_ is contiguous where it is read, inner_ where it is written
  Size parts_ = 1;
  Size grain_ = 1;
};

// One axis of what is made by tables: the position that each index reads, or -1 for the filling.
// Positions are below `length`. An empty table is that of an axis that is copied.
struct TableAxis {
  Size length;
  Size count;
  std::vector<std::int32_t> table;
};

// y[i, j, ...] = x[table(i), table(j), ...]: pads, and resampling to the nearest element.
class TableCopy {
 public:
  // `fill` is one element, read when the copy runs; null is zeros. Both sides are contiguous.
  TableCopy(const char* from, char* to, const char* fill, std::vector<TableAxis> axes, Size item);

  // With all threads.
  void Run() const;

 private:
  // Elements of the innermost axis with a table that lie together on both sides.
  struct Piece {
    Size to, from, count;  // in bytes; `from` is -1 for the filling
  };

  void Rows(Size begin, Size end) const;
  void Row(char* to, const char* from) const;
  void Fill(char* to, Size bytes) const;

  const char* from_;
  char* to_;
  const char* fill_;
  std::vector<TableAxis> outer_;
  std::vector<Size> strides_;  // in bytes of x, of the outer axes
  std::vector<Piece> runs_;
  std::vector<std::int32_t> positions_;  // instead of short runs, where a run is a number
  bool is_twice_ = false;                // these are one after another, each two times
  Size run_bytes_ = 0;
  Size row_bytes_ = 0;
  Size item_;
  Size rows_ = 1;
};

}  // namespace headrace::cpu
