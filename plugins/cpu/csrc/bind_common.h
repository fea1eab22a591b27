// What every binding checks before it makes a launch.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "kernels/machine/isa.h"
#include "launch.h"

namespace headrace::cpu::bind {

using Dims = std::vector<std::int64_t>;
using Floats = Array<float>;
using MaybeFloats = std::optional<Floats>;

// Each family adds its functions to the module; records are there before functions take them.
void RegisterWindow(py::module_& m);
void RegisterEpilogue(py::module_& m);
void RegisterConv(py::module_& m);
void RegisterPool(py::module_& m);
void RegisterNorm(py::module_& m);
void RegisterElementwise(py::module_& m);
void RegisterBroadcast(py::module_& m);
void RegisterGemm(py::module_& m);
void RegisterBlockGemm(py::module_& m);
void RegisterBytes(py::module_& m);
void RegisterInteger(py::module_& m);
void RegisterByteBatch(py::module_& m);
void RegisterProgram(py::module_& m);
void RegisterBatchMatmul(py::module_& m);
void RegisterRows(py::module_& m);
void RegisterAttention(py::module_& m);
void RegisterCache(py::module_& m);
void RegisterRecurrent(py::module_& m);
void RegisterImage(py::module_& m);
void RegisterCopy(py::module_& m);
void RegisterGather(py::module_& m);
void RegisterLearners(py::module_& m);
void RegisterDetection(py::module_& m);
void RegisterRunning(py::module_& m);
void RegisterSampling(py::module_& m);
void RegisterScatter(py::module_& m);
void RegisterSpectrum(py::module_& m);
void RegisterRanking(py::module_& m);
void RegisterThreads(py::module_& m);

std::string Text(const Dims& dims);  // "[3, 3]"
Dims Shape(const AnyArray& array);
Dims Tail(const Dims& dims, std::size_t skip);

// Whether a dtype of this name is a float of 16 bits.
bool IsHalf(const std::string& name);

// Throws ValueError unless the array has this shape; `op` and `name` start the message.
void RequireShape(const char* op, const char* name, const AnyArray& array, const Dims& expected);

// Throws ValueError unless the array lies row by row.
void RequireContiguous(const char* op, const char* name, const AnyArray& array);

// Throws ValueError for an array that cannot be written.
void RequireWriteable(const char* op, const char* name, const AnyArray& array);

// Bytes of an element, of both arrays: one that kernels move whole. Throws ValueError for others.
Size ItemSize(const char* op, const AnyArray& x, const AnyArray& y);

// The product of sizes, or -1 if it does not fit.
std::int64_t Product(const Dims& dims);

constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max();

// Throws ValueError unless dims has `rank` numbers in [lowest, 2^31).
void RequireDims(const char* op, const char* name, const Dims& dims, std::size_t rank,
                 std::int64_t lowest);

// Vector code may assume what the language promises; numpy can break that promise.
void RequireAligned(const char* op, const char* name, const void* first, std::size_t bytes);

template <class T>
void RequireAligned(const char* op, const char* name, const T* first) {
  RequireAligned(op, name, first, alignof(T));
}

template <class T>
const T* ReadPointer(const char* op, const char* name, const Array<T>& array) {
  RequireAligned(op, name, array.data());
  return array.data();
}

template <class T>
T* WritePointer(const char* op, const char* name, Array<T>& array) {
  ReadPointer(op, name, array);
  RequireWriteable(op, name, array);
  return array.mutable_data();
}

// The same of an array of this shape that need not be given: null where it is not.
template <class T>
const T* ReadIfGiven(const char* op, const char* name, const std::optional<Array<T>>& array,
                     const Dims& expected) {
  if (!array) return nullptr;
  RequireShape(op, name, *array, expected);
  return ReadPointer(op, name, *array);
}

template <class T>
T* WriteIfGiven(const char* op, const char* name, std::optional<Array<T>>& array,
                const Dims& expected) {
  if (!array) return nullptr;
  RequireShape(op, name, *array, expected);
  return WritePointer(op, name, *array);
}

// The place of `name` among all the names that `what` can have. Throws ValueError for others.
template <std::size_t kCount>
std::size_t IndexOf(const char* op, const char* what, const std::array<const char*, kCount>& names,
                    const std::string& name) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (name == names[i]) return i;
  }
  throw py::value_error(std::string(op) + ": there is no " + what + " '" + name + "'");
}

}  // namespace headrace::cpu::bind
