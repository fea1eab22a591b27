#include "values.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "half.h"

namespace mlusim::network {
namespace {

struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};

float Value(Half raw) { return FloatOfHalf(raw.bits); }
float Value(Bfloat raw) { return FloatOfBfloat(raw.bits); }
template <typename Raw>
Raw Value(Raw raw) {
  return raw;
}

template <typename Raw, typename T>
Raw RawOf(T value) {
  if constexpr (std::is_same_v<Raw, Half>) {
    return {HalfOfFloat(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<Raw, Bfloat>) {
    return {BfloatOfFloat(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<Raw, bool>) {
    return value != T(0);
  } else if constexpr (std::is_floating_point_v<Raw>) {
    return static_cast<Raw>(value);
  } else {
    using Limits = std::numeric_limits<Raw>;
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) return 0;
      // The highest value of a wide type is no float; at least 2^n is past it.
      if (value >= std::ldexp(T(1), Limits::digits)) return Limits::max();
      if (value <= static_cast<T>(Limits::min())) return Limits::min();
      return static_cast<Raw>(value);
    } else {
      if (std::is_same_v<Raw, std::uint64_t>) return static_cast<Raw>(value);
      if (value > static_cast<T>(Limits::max())) return Limits::max();
      if (value < static_cast<T>(Limits::min())) return Limits::min();
      return static_cast<Raw>(value);
    }
  }
}

// Calls with a value of the C++ type that has the layout of the data type.
template <typename Function>
void WithRaw(int type, Function&& function) {
  switch (type) {
    case kHalf:
      return function(Half{});
    case kFloat:
      return function(float{});
    case kBfloat16:
      return function(Bfloat{});
    case kDouble:
      return function(double{});
    case kInt8:
      return function(std::int8_t{});
    case kInt16:
      return function(std::int16_t{});
    case kInt32:
      return function(std::int32_t{});
    case kInt64:
      return function(std::int64_t{});
    case kUint8:
      return function(std::uint8_t{});
    case kUint16:
      return function(std::uint16_t{});
    case kUint32:
      return function(std::uint32_t{});
    case kUint64:
      return function(std::uint64_t{});
    case kBool:
      return function(bool{});
    default:
      throw Failure(Fault::kNotSupported, Text("data type ", type, " is not computed with"));
  }
}

// Calls with the element offset of each element, in row-major order.
template <typename Visit>
void ForEachOffset(const Dims& dims, const Dims& strides, Visit&& visit) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  if (count == 0) return;
  const std::int64_t inner = dims.empty() ? 1 : dims.back();
  const std::int64_t step = dims.empty() ? 0 : strides.back();
  Dims index(dims.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t done = 0; done < count; done += inner) {
    for (std::int64_t i = 0; i < inner; ++i) visit(offset + i * step);
    for (std::size_t axis = dims.size() - 1; axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < dims[axis]) break;
      offset -= index[axis] * strides[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

template <typename T>
std::vector<T> Load(const Operand& operand) {
  std::vector<T> values(static_cast<std::size_t>(operand.Count()));
  WithRaw(operand.type, [&](auto sample) {
    using Raw = decltype(sample);
    std::size_t next = 0;
    ForEachOffset(operand.dims, operand.strides, [&](std::int64_t offset) {
      Raw raw;
      std::memcpy(&raw, operand.data + offset * static_cast<std::int64_t>(sizeof(Raw)), sizeof raw);
      values[next++] = static_cast<T>(Value(raw));
    });
  });
  return values;
}

template <typename T>
void Store(const Operand& operand, const std::vector<T>& values) {
  WithRaw(operand.type, [&](auto sample) {
    using Raw = decltype(sample);
    std::size_t next = 0;
    ForEachOffset(operand.dims, operand.strides, [&](std::int64_t offset) {
      const Raw raw = RawOf<Raw>(values[next++]);
      std::memcpy(operand.data + offset * static_cast<std::int64_t>(sizeof(Raw)), &raw, sizeof raw);
    });
  });
}

template std::vector<float> Load(const Operand&);
template std::vector<double> Load(const Operand&);
template std::vector<std::int64_t> Load(const Operand&);
template void Store(const Operand&, const std::vector<float>&);
template void Store(const Operand&, const std::vector<double>&);
template void Store(const Operand&, const std::vector<std::int64_t>&);

void Wrap(int type, std::vector<std::int64_t>& values) {
  WithRaw(type, [&](auto sample) {
    using Raw = decltype(sample);
    if constexpr (std::is_integral_v<Raw>) {
      for (std::int64_t& value : values) value = static_cast<std::int64_t>(static_cast<Raw>(value));
    }
  });
}

std::vector<unsigned char> BytesOfElements(const Operand& operand) {
  const auto size = static_cast<std::int64_t>(BytesOf(operand.type));
  std::vector<unsigned char> dense(static_cast<std::size_t>(operand.Count() * size));
  std::size_t next = 0;
  ForEachOffset(operand.dims, operand.strides, [&](std::int64_t offset) {
    std::memcpy(dense.data() + next, operand.data + offset * size, size);
    next += size;
  });
  return dense;
}

void StoreBytes(const Operand& operand, const std::vector<unsigned char>& bytes) {
  const auto size = static_cast<std::int64_t>(BytesOf(operand.type));
  std::size_t next = 0;
  ForEachOffset(operand.dims, operand.strides, [&](std::int64_t offset) {
    std::memcpy(operand.data + offset * size, bytes.data() + next, size);
    next += size;
  });
}

void CopyElements(const Operand& from, const Operand& to) { StoreBytes(to, BytesOfElements(from)); }

}  // namespace mlusim::network
