// Matrix products of bytes with packed weights, summed in int32 exactly: y = epilogue(a * b).
//
// The right matrix b [depth, columns] lies in panels of sixteen columns, four of the depth
// together: int8 [columns / 16][depth / 4][16][4], filled up with zeros, the same on every machine.
// Rows of the left one are gathered, as uint8: instructions multiply unsigned by signed bytes, so
// int8 numbers are moved up by 128 on the left, and uint8 down by 128 on the right, zero points
// with them. What zero points add is taken off with the sums of columns and of rows. Sums wrap
// around.
#pragma once

#include "kernels/machine/isa.h"
#include "kernels/machine/sizes.h"
#include "kernels/products/gemm.h"

namespace headrace::cpu {

constexpr Size kQuad = 4;  // of the depth, that lie together
HEADRACE_INLINE constexpr Size Quads(Size depth) { return CeilDiv(depth, kQuad); }

enum class Byte : int { kInt8, kUint8 };
enum class Made : int { kInt32, kFloat, kInt8, kUint8 };

// The left matrix, as bytes.
struct ByteRows {
  // Writes rows [first, first + count), each of which has `depth` bytes, `stride` apart.
  void (*gather)(const void* source, Size first, Size count, std::uint8_t* to, Size stride);
  const void* source;
  const std::uint8_t* dense;  // where the rows lie one after another, or none
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

// Bytes that are made of sums by a factor and a clamp alone: clamp(sum * factor, low, high),
// rounded to even, plus the zero point.
struct Requantized {
  const float* factors = nullptr;  // none: something else follows the sums
  float low = 0, high = 0;
  std::int32_t zero = 0;
};

// What `epilogue` is, if it is such a one: `factors` are its scales, one for each column.
Requantized RequantizedBy(const ByteEpilogue& epilogue, const float* factors);

// A byte, signed or not; 0 for none.
std::int32_t ByteAt(const void* byte, bool is_signed);

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
  // [3][panels * 16], for what a launch makes of the zero points, and its factors.
  std::int32_t* corrections;
  Requantized bytes{};  // made by a launch
};

// Numbers of `corrections` for so many columns.
constexpr Size CorrectionCount(Size columns) { return 3 * PanelCount(columns) * kPanel; }

// Does `count` products of the same sizes, with all threads. Writes their corrections and `bytes`.
void Multiply(ByteProduct* products, Size count);

struct ByteGemmTable {
  // How many bytes a number of the left matrix takes where tiles read it.
  Size item_bytes;
  // Makes of rows, `from_stride` bytes apart, what tiles read: `items`, stride numbers apart, which
  // may be the rows if numbers are bytes. It fills rows up to whole quads with zeros, and sums each
  // up unless `sums` is null.
  void (*prepare)(const ByteRows& rows, const std::uint8_t* from, Size from_stride, Size count,
                  Size stride, void* items, std::int32_t* sums);
  // The part of the product in `count` prepared rows from `first` on, and panels
  // [panel_begin, panel_end).
  void (*block)(const ByteProduct& product, Size first, Size count, const void* items, Size stride,
                const std::int32_t* row_sums, Size panel_begin, Size panel_end);
};
HEADRACE_DOT_TABLE(ByteGemmTable, ByteGemm)

}  // namespace headrace::cpu
