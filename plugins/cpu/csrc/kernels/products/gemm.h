// Matrix products with packed weights: y = epilogue(a * b), float32; b may be of 16 bits.
//
// The right matrix b [depth, columns] lies in panels of sixteen columns, [columns / 16][depth][16],
// filled up with zeros: the same on every machine. Numbers of 16 bits are float32 from where they
// are loaded on: a panel is read once for several rows, and the rest costs what it does. The left
// one is read where it lies, row by row, so a convolution is a product whose rows are pieces of an
// image; see `Rows`.
//
// Every element of y is one sum over the depth in ascending order, whatever the shape of the tiles
// and the number of threads.
#pragma once

#include "kernels/machine/isa.h"
#include "kernels/machine/sizes.h"

namespace headrace::cpu {

constexpr int kPanel = 16;       // columns of a panel
constexpr int kMostPanels = 4;   // of a tile
constexpr int kMostRows = 16;    // of a tile; what `Rows::fill` leaves room for
constexpr Size kGroupTiles = 8;  // that groups go over one after another
constexpr Size kBlockRows =
    72;  // rows that are multiplied together: all heights of tiles divide it

HEADRACE_INLINE constexpr Size PanelCount(Size columns) { return CeilDiv(columns, kPanel); }

// What is done to a sum before it is stored. The numbers are part of saved plans.
enum class Activation : int {
  kNone = 0,
  kClamp = 1,        // between alpha and beta; relu is 0 and infinity
  kLeaky = 2,        // x < 0 ? alpha * x : x
  kSigmoid = 3,      // 1 / (1 + exp(-x))
  kSilu = 4,         // x * sigmoid(x)
  kHardSigmoid = 5,  // clamp(alpha * x + beta, 0, 1)
  kHardSwish = 6,    // x * clamp(alpha * x + beta, 0, 1)
};

struct Epilogue {
  const float* bias = nullptr;    // [columns], or none
  const float* addend = nullptr;  // [rows, columns], or none; may be y
  Size addend_stride = 0;         // floats between its rows
  bool addend_last = false;       // added to the activated sum, not to the plain one
  Activation activation = Activation::kNone;
  float alpha = 0;
  float beta = 0;
};

// The left matrix: each row is `segments` runs of `length` floats.
struct Rows {
  // Writes where segment s of row first + i begins to `starts[s * kMostRows + i]`, for all s and
  // for i below `count`, which is kMostRows at most.
  void (*fill)(const void* source, Size first, int count, const float** starts);
  const void* source;
  Size count;     // rows
  Size segments;  // of each
  Size length;    // floats of each segment
  // Where a segment of zeros begins that rows may have, or none, for the channels of all groups. A
  // tile of which all rows have it leaves it out: nothing is added to its sums.
  const float* zeros = nullptr;

  Size Depth() const { return segments * length; }
};

// Rows one after another in memory.
struct DenseRows {
  const float* first;
  Size stride;  // floats between rows
};
Rows MakeRows(const DenseRows* source, Size count, Size depth);

enum class PanelItem : int { kFloat, kFloat16, kBfloat16 };

struct Product {
  Rows rows;
  const void* panels;  // [columns / 16][depth][16]
  Size columns;
  float* y;       // [rows, columns]
  Size y_stride;  // floats between its rows
  Epilogue epilogue;
  PanelItem item = PanelItem::kFloat;  // of the panels
  // As many products side by side: each has `columns` of the results, of the bias and of the addend
  // and its own panels, and reads `apart` floats behind what the one before reads, or zeros.
  Size groups = 1;
  Size apart = 0;
};

// Does `count` products of the same sizes, with all threads.
void Multiply(const Product* products, Size count);

// Packs b [depth, columns], or [columns, depth] if `transposed`, into panels. `stride`: floats
// between the rows of b as it lies.
void Pack(const float* b, Size depth, Size columns, Size stride, bool transposed, float* panels);

// The same of a matrix that lies in any way: b[k, j] is first[rows[k] + j * column_stride].
template <class T>
struct ScatteredMatrix {
  const T* first;
  const Size* rows;
  Size column_stride;
};
void Pack(const ScatteredMatrix<float>& b, Size depth, Size columns, float* panels);

// Four bytes, wherever they lie.
struct Word {
  std::uint8_t bytes[4];
};

// Numbers of 16 bits, words and bytes stay as they are.
void Pack(const ScatteredMatrix<std::uint16_t>& b, Size depth, Size columns, std::uint16_t* panels);
void Pack(const ScatteredMatrix<Word>& b, Size depth, Size columns, Word* panels);
void Pack(const ScatteredMatrix<std::uint8_t>& b, Size depth, Size columns, std::uint8_t* panels);

struct GemmTable {
  // The part of the product in rows [row_begin, row_end) and panels [panel_begin, panel_end).
  // `starts` has room for segments * kMostRows pointers, and for kGroupTiles times as many if there
  // are groups, whose panels follow each other.
  void (*block)(const Product& product, Size row_begin, Size row_end, Size panel_begin,
                Size panel_end, const float** starts);
};
HEADRACE_TABLE(GemmTable, Gemm)

}  // namespace headrace::cpu
