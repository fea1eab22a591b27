// The enums whose numbers a vendor header is known to have shown. The others are in enums.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlusim::network {

inline constexpr int kMaxRank = 8;  // CNNL_DIM_MAX

enum Layout { NCHW, NHWC, HWCN, NDHWC, ARRAY, NCDHW, TNC, NTC, NC, NLC, NCL, kLayouts };

enum DataType {
  kInvalid = 0,
  kHalf = 1,
  kFloat = 2,
  kInt8 = 3,
  kInt16 = 4,
  kInt31 = 5,
  kInt32 = 6,
  kUint8 = 7,
  kBool = 8,
  kInt64 = 9,
  kUint32 = 11,
  kUint64 = 12,
  kUint16 = 13,
  kDouble = 14,
  kComplexHalf = 15,
  kComplexFloat = 16,
  kBfloat16 = 17,
};

// 0 for types that have no size of their own here.
inline std::size_t BytesOf(int type) {
  switch (type) {
    case kInt8:
    case kUint8:
    case kBool:
      return 1;
    case kHalf:
    case kInt16:
    case kUint16:
    case kBfloat16:
      return 2;
    case kFloat:
    case kInt32:
    case kInt31:
    case kUint32:
    case kComplexHalf:
      return 4;
    case kInt64:
    case kUint64:
    case kDouble:
    case kComplexFloat:
      return 8;
    default:
      return 0;
  }
}

}  // namespace mlusim::network
