#include "kernels/moves/transpose.h"

#include <cstdint>
#include <cstring>

namespace headrace::cpu {
namespace {

// Sixteen bytes are a register of every machine, and all that a transpose needs of one is to zip
// two of them: to take elements from both by turns.
constexpr Size kBytes = 16;
typedef std::uint8_t Vec __attribute__((vector_size(kBytes)));

template <int kItem>
HEADRACE_INLINE Vec ZipLow(Vec a, Vec b) {
  if constexpr (kItem == 1) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  } else if constexpr (kItem == 2) {
    return __builtin_shufflevector(a, b, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23);
  } else if constexpr (kItem == 4) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
  } else {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  }
}

template <int kItem>
HEADRACE_INLINE Vec ZipHigh(Vec a, Vec b) {
  const auto turned = [](Vec v) HEADRACE_INLINE_LAMBDA {
    return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  };
  if constexpr (kItem == 1) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
  } else if constexpr (kItem == 2) {
    return __builtin_shufflevector(a, b, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30,
                                   31);
  } else if constexpr (kItem == 4) {
    return __builtin_shufflevector(a, b, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30,
                                   31);
  } else {
    return ZipLow<8>(turned(a), turned(b));
  }
}

// Zips each of the first half with its like of the second, `kRounds` times. log2(kCount) rounds
// leave the elements of all registers by turns, the first of each, then the second of each; and
// rounds for each element of a register take apart what lies by turns.
template <int kItem, int kCount, int kRounds>
HEADRACE_INLINE void Zip(Vec (&v)[kCount]) {
  if constexpr (kRounds > 0) {
    Vec made[kCount];
#pragma GCC unroll 8
    for (int i = 0; i < kCount / 2; ++i) {
      made[2 * i] = ZipLow<kItem>(v[i], v[i + kCount / 2]);
      made[2 * i + 1] = ZipHigh<kItem>(v[i], v[i + kCount / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) v[i] = made[i];
    Zip<kItem, kCount, kRounds - 1>(v);
  }
}

constexpr int Rounds(int count) { return count <= 1 ? 0 : 1 + Rounds(count / 2); }

HEADRACE_INLINE Vec LoadVec(const char* p) {
  Vec v;
  std::memcpy(&v, p, kBytes);
  return v;
}
HEADRACE_INLINE void StoreVec(char* p, Vec v) { std::memcpy(p, &v, kBytes); }

template <int kItem>
void OneByOne(const char* from, Size from_step, char* to, Size to_step, Size rows, Size columns) {
  for (Size r = 0; r < rows; ++r, from += kItem, to += to_step) {
    for (Size c = 0; c < columns; ++c) {
      std::memcpy(to + c * kItem, from + c * from_step, kItem);
    }
  }
}

// Of elements that lie side by side, up to four, there is room for two or four in a register.
template <int kFew>
constexpr int kRoom = kFew > 2 ? 4 : 2;

// kFew x (16 / kItem) elements become as many of kFew side by side; of three, four are written,
// where what follows will be written over.
template <int kItem, int kFew>
HEADRACE_INLINE void Join(const char* from, Size from_step, char* to, Size to_step) {
  constexpr int kPixel = kItem * kRoom<kFew>, kExact = kItem * kFew, kEach = kBytes / kPixel;
  Vec v[kRoom<kFew>] = {};
#pragma GCC unroll 4
  for (int i = 0; i < kFew; ++i) v[i] = LoadVec(from + i * from_step);
  Zip<kItem, kRoom<kFew>, Rounds(kRoom<kFew>)>(v);
  char pixels[kRoom<kFew> * kBytes];
  std::memcpy(pixels, v, sizeof(pixels));
  const bool is_dense = to_step == kExact;
  constexpr int kLast = kRoom<kFew> * kEach - 1;
  if (is_dense) {
#pragma GCC unroll 16
    for (int i = 0; i < kLast; ++i) std::memcpy(to + i * kExact, pixels + i * kPixel, kPixel);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < kLast; ++i) std::memcpy(to + i * to_step, pixels + i * kPixel, kExact);
  }
  std::memcpy(to + kLast * to_step, pixels + kLast * kPixel, kExact);
}

template <int kBits>
struct Unsigned;
template <>
struct Unsigned<16> {
  using Type = std::uint16_t;
};
template <>
struct Unsigned<32> {
  using Type = std::uint32_t;
};
template <>
struct Unsigned<64> {
  using Type = std::uint64_t;
};

// `kExact` bytes as the lowest ones of a number, which has up to a third more.
template <int kExact>
HEADRACE_INLINE auto LoadPixel(const char* p) {
  constexpr int kWhole = kExact > 4 ? 8 : kExact > 2 ? 4 : 2;
  typename Unsigned<8 * kWhole>::Type pixel;
  if constexpr (kExact == kWhole) {
    std::memcpy(&pixel, p, kWhole);
  } else {
    typename Unsigned<4 * kWhole>::Type low;
    std::memcpy(&low, p, kWhole / 2);
    if constexpr (kExact == 3) {
      pixel = low | static_cast<std::uint32_t>(static_cast<std::uint8_t>(p[2])) << 16;
    } else {
      pixel = low | static_cast<std::uint64_t>(LoadPixel<2>(p + 4)) << 32;
    }
  }
  return pixel;
}

// A register of pixels of kPixel bytes that are `step` apart; of the last one kExact are read.
template <int kPixel, int kExact>
HEADRACE_INLINE Vec LoadPixels(const char* p, Size step) {
  if constexpr (kPixel == kExact && kPixel == kBytes) {
    return LoadVec(p);
  } else if constexpr (kPixel == kBytes) {
    typedef std::uint64_t Halves __attribute__((vector_size(kBytes)));
    const Halves halves = {LoadPixel<8>(p), LoadPixel<4>(p + 8)};
    return reinterpret_cast<Vec>(halves);
  } else {
    typedef typename Unsigned<8 * kPixel>::Type Pixels __attribute__((vector_size(kBytes)));
    constexpr int kLast = kBytes / kPixel - 1;
    Pixels pixels{};
#pragma GCC unroll 8
    for (int i = 0; i < kLast; ++i) pixels[i] = LoadPixel<kPixel>(p + i * step);
    pixels[kLast] = LoadPixel<kExact>(p + kLast * step);
    return reinterpret_cast<Vec>(pixels);
  }
}

// The other way: (16 / kItem) times kFew elements side by side become kFew rows; of three, four are
// read, where the next ones follow.
template <int kItem, int kFew>
HEADRACE_INLINE void Part(const char* from, Size from_step, char* to, Size to_step) {
  constexpr int kPixel = kItem * kRoom<kFew>, kExact = kItem * kFew, kEach = kBytes / kPixel;
  constexpr int kLast = kRoom<kFew> - 1;
  Vec v[kRoom<kFew>];
  if (kPixel == kExact && from_step == kExact) {
#pragma GCC unroll 4
    for (int i = 0; i <= kLast; ++i) v[i] = LoadVec(from + i * kBytes);
  } else if (from_step >= kExact) {
#pragma GCC unroll 4
    for (int i = 0; i < kLast; ++i) {
      v[i] = LoadPixels<kPixel, kPixel>(from + i * kEach * from_step, from_step);
    }
    v[kLast] = LoadPixels<kPixel, kExact>(from + kLast * kEach * from_step, from_step);
  } else {
    return OneByOne<kItem>(from, from_step, to, to_step, kFew, kBytes / kItem);
  }
  Zip<kItem, kRoom<kFew>, Rounds(kBytes / kItem)>(v);
#pragma GCC unroll 4
  for (int i = 0; i < kFew; ++i) StoreVec(to + i * to_step, v[i]);
}

// As many elements each way as a register has.
template <int kItem>
HEADRACE_INLINE void Square(const char* from, Size from_step, char* to, Size to_step) {
  constexpr int kCount = kBytes / kItem;
  Vec v[kCount];
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) v[i] = LoadVec(from + i * from_step);
  Zip<kItem, kCount, Rounds(kCount)>(v);
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) StoreVec(to + i * to_step, v[i]);
}

// Calls `f` where tiles of `size` begin that cover `count`, at least as many: the last one may lie
// over the one before it.
template <class F>
HEADRACE_INLINE void Cover(Size count, Size size, F f) {
  for (Size i = 0; i + size < count; i += size) f(i);
  f(count - size);
}

template <int kItem, int kFew>
void JoinColumns(const char* from, Size from_step, char* to, Size to_step, Size rows,
                 Size columns) {
  Cover(rows, kBytes / kItem, [=](Size r) {
    Cover(columns, kFew, [=](Size c) {
      Join<kItem, kFew>(from + c * from_step + r * kItem, from_step, to + r * to_step + c * kItem,
                        to_step);
    });
  });
}

template <int kItem, int kFew>
void PartRows(const char* from, Size from_step, char* to, Size to_step, Size rows, Size columns) {
  Cover(columns, kBytes / kItem, [=](Size c) {
    Cover(rows, kFew, [=](Size r) {
      Part<kItem, kFew>(from + c * from_step + r * kItem, from_step, to + r * to_step + c * kItem,
                        to_step);
    });
  });
}

template <int kItem>
void Squares(const char* from, Size from_step, char* to, Size to_step, Size rows, Size columns) {
  Cover(rows, kBytes / kItem, [=](Size r) {
    Cover(columns, kBytes / kItem, [=](Size c) {
      Square<kItem>(from + c * from_step + r * kItem, from_step, to + r * to_step + c * kItem,
                    to_step);
    });
  });
}

using Matrix = void (*)(const char* from, Size from_step, char* to, Size to_step, Size rows,
                        Size columns);

template <int kItem>
Matrix Choose(Size rows, Size columns) {
  constexpr Size kSide = kBytes / kItem;
  if (rows >= kSide && columns >= kSide) return Squares<kItem>;
  if constexpr (kItem < 8) {
    if (rows >= kSide && columns > 1) {
      return columns == 2   ? JoinColumns<kItem, 2>
             : columns == 3 ? JoinColumns<kItem, 3>
                            : JoinColumns<kItem, 4>;
    }
    if (columns >= kSide && rows > 1) {
      return rows == 2 ? PartRows<kItem, 2> : rows == 3 ? PartRows<kItem, 3> : PartRows<kItem, 4>;
    }
  }
  return OneByOne<kItem>;
}

Matrix ChooseFor(Size item, Size rows, Size columns) {
  switch (item) {
    case 1:
      return Choose<1>(rows, columns);
    case 2:
      return Choose<2>(rows, columns);
    case 4:
      return Choose<4>(rows, columns);
    case 8:
      return Choose<8>(rows, columns);
    default:
      return OneByOne<16>;
  }
}

}  // namespace

void Transpose(const char* from, Size from_step, char* to, Size to_step, Size rows, Size columns,
               Size item) {
  if (rows == 0 || columns == 0) return;
  ChooseFor(item, rows, columns)(from, from_step, to, to_step, rows, columns);
}

}  // namespace headrace::cpu
