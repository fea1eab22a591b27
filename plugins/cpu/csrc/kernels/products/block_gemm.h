// Matrix products with weights of few bits: y = epilogue(a * b), float32, where b has a scale for
// each block of a column, as language models are stored.
//
// The right matrix b [depth, columns] lies in panels of sixteen columns, [columns / 16][words][16]:
// a word has 32 / bits numbers of a column, the first in its lowest bits. A number of b is
// (bits - zero) * scale; nothing else is kept of it than its bits.
//
// In float32, the sum of each block is taken of whole numbers for a few rows, and scaled once; more
// rows read a panel that was widened for all of them, as gemm.h has it. Which of both depends on
// the number of rows, and on nothing else.
//
// Or a row of a is rounded to bytes as well, by the largest number of each block: the sum of a
// block is one of integers then, exact, and scaled by both.
//
// Blocks are added in ascending order, always.
#pragma once

#include "kernels/machine/sizes.h"
#include "kernels/products/gemm.h"

namespace headrace::cpu {

constexpr int kFewRows = 4;

struct BlockWeights {
  const std::int32_t* panels;  // [columns / 16][blocks * BlockWords()][16]
  const float* scales;         // [columns / 16][blocks][16]
  const std::uint8_t* zeros;   // the same, or none: half of what the bits can say
  Size depth;
  Size columns;
  Size block;  // numbers of a column that have one scale; whole words
  int bits;    // 2, 4 or 8

  Size Blocks() const { return CeilDiv(depth, block); }
  Size BlockWords() const { return block * bits / 32; }
};

// A matrix that is rounded to bytes. What is negative is rounded as what is positive: a block has a
// scale, the largest number by 127, and no zero point.
struct RoundedRows {
  // [rows][blocks * block]: the numbers that a word of b has are in another order, each fourth
  // byte of it after the other.
  std::int8_t* bytes;
  float* scales;       // [rows][blocks]
  std::int32_t* sums;  // the same, of the bytes
};

struct BlockProduct {
  const float* x;  // [rows, depth], one row after another
  Size rows;
  BlockWeights weights;
  float* y;  // [rows, columns]
  Epilogue epilogue;
};

// With all threads, in float32.
void Multiply(const BlockProduct& product);

// With all threads, of bytes; `rounded` is memory.
void MultiplyRounded(const BlockProduct& product, const RoundedRows& rounded);

struct BlockGemmTable {
  // The product in panels [begin, end), of at most kFewRows rows.
  void (*few_rows)(const BlockProduct& product, Size begin, Size end);
  // Panels [begin, end) as float32, [end - begin][depth][16].
  void (*widen)(const BlockWeights& weights, Size begin, Size end, float* panels);
};
HEADRACE_TABLE(BlockGemmTable, BlockGemm)

struct RoundedGemmTable {
  // Rounds rows [begin, end).
  void (*round)(const BlockProduct& product, const RoundedRows& rounded, Size begin, Size end);
  // The product in panels [begin, end), of all rows.
  void (*panels)(const BlockProduct& product, const RoundedRows& rounded, Size begin, Size end);
};
HEADRACE_DOT_TABLE(RoundedGemmTable, RoundedGemm)

}  // namespace headrace::cpu
