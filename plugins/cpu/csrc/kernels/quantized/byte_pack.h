// Matrices of bytes put into the panels that products read: see integer.h.
#pragma once

#include "kernels/quantized/integer.h"

namespace headrace::cpu {

// Matrices of the same sizes, each [depth, columns], or [columns, depth] if `transposed`.
struct ByteMatrices {
  const std::uint8_t* first;
  Byte item;
  Size count, depth, columns;
  Size apart;   // bytes from one to the next
  Size stride;  // bytes between the rows of each as it lies
  bool transposed;
};

// With all threads. Each into panels of its own, one after another, as are `sums` [columns].
void Pack(const ByteMatrices& matrices, std::int8_t* panels, std::int32_t* sums);

// Some panels of one matrix, beginning with the first byte of their first column.
struct BytePanels {
  const std::uint8_t* from;
  Size depth, stride;
  int columns;        // at most what `BytePackTable::columns` says
  std::uint8_t down;  // is taken off each byte
  bool transposed;
};

struct BytePackTable {
  // How many are packed side by side: whole panels.
  int columns;
  // Fills the last panel up with zeros; so many sums are written as there are columns.
  void (*pack)(const BytePanels& panels, std::int8_t* to, std::int32_t* sums);
};
HEADRACE_DOT_TABLE(BytePackTable, BytePacks)

}  // namespace headrace::cpu
