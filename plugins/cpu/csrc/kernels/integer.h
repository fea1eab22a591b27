// Matrix products of bytes with packed weights, summed in int32 exactly: y = epilogue(a * b).
//
// The right matrix b [depth, columns] lies in panels of sixteen columns, four of the depth
// together: int8 [columns / 16][depth / 4][16][4], filled up with zeros, the same on every machine.
// Rows of the left one are gathered, as uint8: instructions multiply unsigned by signed bytes, so
// int8 numbers are moved up by 128 on the left, and uint8 down by 128 on the right, zero points
// with them. What zero points add is taken off with the sums of columns and of rows. Sums wrap
// around.
#pragma once

#include "gemm.h"
#include "isa.h"

namespace headrace::cpu {

constexpr Size kQuad = 4;  // of the depth, that lie together
constexpr Size Quads(Size depth) { return (depth + kQuad - 1) / kQuad; }

enum class Byte : int { kInt8, kUint8 };
enum class Made : int { kInt32, kFloat, kInt8, kUint8 };

// The left matrix, as bytes.
struct ByteRows {
  // Writes rows [first, first + count), each of which has `depth` bytes, `stride` apart.
  void (*gather)(const void* source, Size first, Size count, std::uint8_t* to, Size stride);
  const void* source;
  Size count;
  Size depth;
  Byte item;
};

// What becomes of the sums: (sum + shift) * scale, then as `floats` says, then by y_scale and
// y_zero to bytes. Without a scale, y is int32; without a y_scale, it is float.
struct ByteEpilogue {
  const std::int32_t* shift = nullptr;  // [columns], or none
  const float* scale = nullptr;         // [columns] if it has a step, or one number
  Size scale_step = 0;
  Epilogue floats;
  const float* y_scale = nullptr;
  const void* y_zero = nullptr;  // as y, or none
  Made made = Made::kInt32;
};

struct ByteProduct {
  ByteRows rows;
  const std::int8_t* panels;
  const std::int32_t* sums;          // of the columns of b as it is packed: [columns]
  const std::int32_t* weight_zeros;  // [columns], as b is packed, or none
  const void* x_zero;                // one byte as the left matrix has it, or none
  Size columns;
  void* y;
  Size y_stride;  // elements between its rows
  ByteEpilogue epilogue;
  // [2][panels * 16], for what a launch makes of the zero points.
  std::int32_t* corrections;
};

// Numbers of `corrections` for so many columns.
constexpr Size CorrectionCount(Size columns) { return 2 * PanelCount(columns) * kPanel; }

// Does `count` products of the same sizes, with all threads.
void Multiply(const ByteProduct* products, Size count);

// Packs b [depth, columns], or [columns, depth] if `transposed`, into panels; `sums` [columns].
// `stride`: bytes between the rows of b as it lies.
void Pack(const std::uint8_t* b, Byte item, Size depth, Size columns, Size stride, bool transposed,
          std::int8_t* panels, std::int32_t* sums);

struct ByteGemmTable {
  // How many bytes a number of the left matrix takes where tiles read it.
  Size item_bytes;
  // Makes of gathered rows, `stride` bytes apart, what tiles read: `items`, stride numbers apart.
  // It fills rows up to whole quads with zeros, and sums each up unless `sums` is null.
  void (*prepare)(const ByteRows& rows, std::uint8_t* gathered, Size count, Size stride,
                  void* items, std::int32_t* sums);
  // The part of the product in `count` prepared rows from `first` on, and panels
  // [panel_begin, panel_end).
  void (*block)(const ByteProduct& product, Size first, Size count, const void* items, Size stride,
                const std::int32_t* row_sums, Size panel_begin, Size panel_end);
};
HEADRACE_DOT_TABLE(ByteGemmTable, ByteGemm)

}  // namespace headrace::cpu
