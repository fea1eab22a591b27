// Matrix products with weights of few bits: y = epilogue(a * b), float32, where b has a scale for
// each block of a column, as language models are stored.
//
// The right matrix b [depth, columns] lies in panels of sixteen columns, [columns / 16][bytes][16]:
// a byte holds two numbers of a column of four bits, four of two or one of eight, the first in the
// lowest bits. A number of b is (bits - zero) * scale; it is float32 from where it is loaded on,
// and nothing else is kept of it than its bits.
//
// For a few rows, the sum of each block is taken of whole numbers, and scaled once; blocks are
// added in ascending order. More rows read a panel that was widened for all of them, as gemm.h has
// it. Which of both depends on the number of rows, and on nothing else.
#pragma once

#include "gemm.h"

namespace headrace::cpu {

constexpr int kFewRows = 4;

struct BlockWeights {
  const std::uint8_t* panels;  // [columns / 16][blocks * BlockBytes()][16]
  const float* scales;         // [columns / 16][blocks][16]
  const std::uint8_t* zeros;   // the same, or none: half of what the bits can say
  Size depth;
  Size columns;
  Size block;  // numbers of a column that have one scale; whole bytes
  int bits;    // 2, 4 or 8

  Size Blocks() const { return (depth + block - 1) / block; }
  Size BlockBytes() const { return block * bits / 8; }
};

struct BlockProduct {
  const float* x;  // [rows, depth], one row after another
  Size rows;
  BlockWeights weights;
  float* y;  // [rows, columns]
  Epilogue epilogue;
};

// With all threads.
void Multiply(const BlockProduct& product);

struct BlockGemmTable {
  // The product in panels [begin, end), of at most kFewRows rows.
  void (*few_rows)(const BlockProduct& product, Size begin, Size end);
  // Panels [begin, end) as float32, [end - begin][depth][16].
  void (*widen)(const BlockWeights& weights, Size begin, Size end, float* panels);
};
HEADRACE_TABLE(BlockGemmTable, BlockGemm)

}  // namespace headrace::cpu
