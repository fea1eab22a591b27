// What every binding checks before it makes a launch.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/machine/isa.h"
#include "launch.h"

namespace headrace::cpu::bind {

using Dims = std::vector<std::int64_t>;

// Each family adds its functions to the module; records are there before functions take them.
void RegisterWindow(py::module_& m);
void RegisterEpilogue(py::module_& m);
void RegisterConv(py::module_& m);
void RegisterPool(py::module_& m);
void RegisterNorm(py::module_& m);
void RegisterElementwise(py::module_& m);
void RegisterGemm(py::module_& m);
void RegisterBlockGemm(py::module_& m);
void RegisterInteger(py::module_& m);
void RegisterProgram(py::module_& m);
void RegisterRows(py::module_& m);
void RegisterAttention(py::module_& m);
void RegisterCache(py::module_& m);
void RegisterRecurrent(py::module_& m);
void RegisterImage(py::module_& m);
void RegisterCopy(py::module_& m);
void RegisterGather(py::module_& m);
void RegisterTrees(py::module_& m);
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
  if (!array.writeable()) throw py::value_error(std::string(op) + ": " + name + " is read-only");
  return array.mutable_data();
}

}  // namespace headrace::cpu::bind
