// Moves of elements that change nothing in them: from and to anywhere, with strides.
#pragma once

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
  StridedCopy(const char* from, char* to, const std::vector<CopyAxis>& axes, Size item);

  // With all threads.
  void Run() const;

 private:
  bool TakeMiddle();
  Size CutBlocks();
  Size CutRows();
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

}  // namespace headrace::cpu
