// Moves of elements that change nothing in them: by tables of positions.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/machine/isa.h"

namespace headrace::cpu {

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
