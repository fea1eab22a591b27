#include "kernels/quantized/integer.h"

#include <algorithm>
#include <cmath>

#include "kernels/machine/sizes.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu {
namespace {

// Products that are worth a part of their own, and parts for each thread; see gemm.cpp.
constexpr Size kPartWork = Size{1} << 22;
constexpr Size kPartsPerThread = 4;

// Columns whose corrections are worth a part of their own.
constexpr Size kCorrected = 1 << 13;

std::uint32_t Bits(std::int32_t x) { return static_cast<std::uint32_t>(x); }

// What the zero points add to each column, the zero points of the weights and the factors, for
// whole panels.
void Correct(ByteProduct& product) {
  const Size columns = product.columns, wide = PanelCount(columns) * kPanel;
  const bool is_signed = product.rows.item == Byte::kInt8;
  const std::uint32_t zero = Bits(ByteAt(product.x_zero, is_signed) + (is_signed ? 128 : 0));
  const auto depth = static_cast<std::uint32_t>(product.rows.depth);
  const ByteEpilogue& epilogue = product.epilogue;
  std::int32_t* added = product.corrections;
  std::int32_t* zeros = added + wide;
  float* factors = reinterpret_cast<float*>(zeros + wide);
  const auto copy = [=](const auto* from, auto* to) {
    if (from == nullptr) {
      std::fill(to, to + wide, 0);
    } else {
      std::copy(from, from + columns, to);
      std::fill(to + columns, to + wide, 0);
    }
  };
  // Apart, and without a branch in the last: layers of a few rows come here as often as to sums.
  copy(product.weight_zeros, zeros);
  copy(epilogue.shift, added);
  for (Size c = 0; c < columns; ++c) {
    const std::uint32_t column = Bits(product.sums[c]) - depth * Bits(zeros[c]);
    added[c] = static_cast<std::int32_t>(Bits(added[c]) - zero * column);
  }
  if (epilogue.scale != nullptr && epilogue.scale_step == 0) {
    std::fill(factors, factors + columns, *epilogue.scale);
    std::fill(factors + columns, factors + wide, 0.0f);
  } else {
    copy(epilogue.scale, factors);
  }
  product.bytes = RequantizedBy(epilogue, factors);
  for (Size c = 0; c < columns && product.bytes.factors != nullptr; ++c) {
    if (!std::isfinite(factors[c])) product.bytes.factors = nullptr;
  }
}

void Part(const ByteProduct& product, Size row_begin, Size row_end, Size panel_begin,
          Size panel_end) {
  const ByteRows& rows = product.rows;
  const Size stride = std::max<Size>(Quads(rows.depth) * kQuad, kQuad);
  const Size gathered_bytes = RoundUp(kBlockRows * stride, kScratchAlignment);
  const Size item_bytes = ByteGemm().item_bytes;
  const bool apart = item_bytes > 1 || rows.dense != nullptr;  // not read where they were gathered
  auto* gathered = static_cast<std::uint8_t*>(ThreadScratch(static_cast<std::size_t>(
      gathered_bytes * (apart ? 1 + item_bytes : 1) + kBlockRows * Size{sizeof(std::int32_t)})));
  std::uint8_t* items = apart ? gathered + gathered_bytes : gathered;
  std::int32_t* sums = product.weight_zeros == nullptr
                           ? nullptr
                           : reinterpret_cast<std::int32_t*>(items + gathered_bytes * item_bytes);
  // Where tiles can read the rows as they lie, nothing is made of them.
  const bool as_they_lie = rows.dense != nullptr && item_bytes == 1 && stride == rows.depth &&
                           rows.item == Byte::kUint8 && sums == nullptr;
  for (Size first = row_begin; first < row_end; first += kBlockRows) {
    const Size count = std::min(kBlockRows, row_end - first);
    if (as_they_lie) {
      ByteGemm().block(product, first, count, rows.dense + first * stride, stride, sums,
                       panel_begin, panel_end);
      continue;
    }
    const std::uint8_t* from = gathered;
    if (rows.dense != nullptr) {
      from = rows.dense + first * rows.depth;
    } else {
      rows.gather(rows.source, first, count, gathered, stride);
    }
    ByteGemm().prepare(rows, from, rows.dense != nullptr ? rows.depth : stride, count, stride,
                       items, sums);
    ByteGemm().block(product, first, count, items, stride, sums, panel_begin, panel_end);
  }
}

}  // namespace

std::int32_t ByteAt(const void* byte, bool is_signed) {
  if (byte == nullptr) return 0;
  return is_signed ? *static_cast<const std::int8_t*>(byte)
                   : *static_cast<const std::uint8_t*>(byte);
}

Requantized RequantizedBy(const ByteEpilogue& epilogue, const float* factors) {
  const Epilogue& floats = epilogue.floats;
  const bool clamps = floats.activation == Activation::kClamp;
  if (epilogue.y_scale == nullptr || *epilogue.y_scale != 1.0f || floats.bias != nullptr ||
      floats.addend != nullptr ||
      (clamps ? !(floats.alpha <= floats.beta) : floats.activation != Activation::kNone)) {
    return {};
  }
  const bool is_signed = epilogue.made == Made::kInt8;
  Requantized made{factors, 0, 0, ByteAt(epilogue.y_zero, is_signed)};
  made.low = static_cast<float>((is_signed ? -128 : 0) - made.zero);
  made.high = static_cast<float>((is_signed ? 127 : 255) - made.zero);
  if (clamps) {
    made.high = std::clamp(floats.beta, made.low, made.high);
    made.low = std::clamp(floats.alpha, made.low, made.high);
  }
  return made;
}

void Multiply(ByteProduct* products, Size count) {
  if (count == 0 || products[0].rows.count == 0 || products[0].columns == 0) return;
  ParallelFor(count, GrainOf(kCorrected, products[0].columns), [&](Size begin, Size end) {
    for (Size i = begin; i < end; ++i) Correct(products[i]);
  });
  const Size rows = products[0].rows.count;
  const Size panels = PanelCount(products[0].columns);
  const Size work = rows * panels * kPanel * std::max<Size>(products[0].rows.depth, 1);
  const Size wanted =
      Threads() == 1 ? 1 : std::min(kPartsPerThread * Threads(), count * work / kPartWork + 1);
  const Size row_parts = std::clamp<Size>(CeilDiv(wanted, count), 1, CeilDiv(rows, kBlockRows));
  const Size panel_parts = std::clamp<Size>((wanted + count * row_parts - 1) / (count * row_parts),
                                            1, CeilDiv(panels, kMostPanels));
  const Size parts = count * row_parts * panel_parts;
  ParallelFor(parts, std::max<Size>(1, parts / wanted), [&](Size begin, Size end) {
    for (Size part = begin; part < end; ++part) {
      const Size r = part % row_parts, p = part / row_parts % panel_parts;
      Part(products[part / (row_parts * panel_parts)], rows * r / row_parts,
           rows * (r + 1) / row_parts, panels * p / panel_parts, panels * (p + 1) / panel_parts);
    }
  });
}

}  // namespace headrace::cpu
