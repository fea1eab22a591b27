// Arrays of numpy as the bindings take them: never converted, never made.
//
// pybind11 has types for that. Before its first array it asks numpy for its version by regular
// expressions, which are compiled for it: a tenth of the time in which a small model is ready.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>

namespace headrace::cpu::bind {

namespace py = pybind11;

// Finds numpy; once, before the first array.
void RequireNumpy();

// An array of any dtype, in any layout.
class AnyArray : public py::object {
 public:
  PYBIND11_OBJECT(AnyArray, py::object, IsArray)

  py::ssize_t ndim() const;
  // One number for each axis.
  const py::ssize_t* shape() const;
  // Throws IndexError for an axis that is not there, as the next one.
  py::ssize_t shape(py::ssize_t axis) const;
  // In bytes.
  py::ssize_t strides(py::ssize_t axis) const;
  py::ssize_t size() const;
  py::ssize_t itemsize() const;
  py::ssize_t nbytes() const { return size() * itemsize(); }
  const void* data() const;
  void* mutable_data();
  bool writeable() const;
  // Whether the elements lie row by row, without gaps.
  bool contiguous() const;
  // As numpy writes it, also for dtypes that are not numpy's own: "float32", but ">f4" where bytes
  // are not in the order of the machine.
  std::string dtype_name() const;

 protected:
  static bool IsArray(PyObject* object);
  // Whether `array` is of a dtype of numpy's own, by its kind and length, as the machine has it.
  static bool Holds(PyObject* array, char kind, py::ssize_t itemsize);
  static bool IsContiguous(PyObject* array);
};

// What numpy calls the dtype of T: the letter of its kind, and its name.
template <class T>
struct Dtype;

#define HEADRACE_DTYPE(T, letter, text)                         \
  template <>                                                   \
  struct Dtype<T> {                                             \
    static constexpr char kKind = letter;                       \
    static constexpr auto kName = py::detail::const_name(text); \
  };
HEADRACE_DTYPE(bool, 'b', "numpy.bool")
HEADRACE_DTYPE(std::int8_t, 'i', "numpy.int8")
HEADRACE_DTYPE(std::int16_t, 'i', "numpy.int16")
HEADRACE_DTYPE(std::int32_t, 'i', "numpy.int32")
HEADRACE_DTYPE(std::int64_t, 'i', "numpy.int64")
HEADRACE_DTYPE(std::uint8_t, 'u', "numpy.uint8")
HEADRACE_DTYPE(std::uint16_t, 'u', "numpy.uint16")
HEADRACE_DTYPE(std::uint32_t, 'u', "numpy.uint32")
HEADRACE_DTYPE(std::uint64_t, 'u', "numpy.uint64")
HEADRACE_DTYPE(float, 'f', "numpy.float32")
HEADRACE_DTYPE(double, 'f', "numpy.float64")
#undef HEADRACE_DTYPE

// An array of T; its elements lie row by row, unless any layout will do.
template <class T, bool kInAnyLayout = false>
class Array : public AnyArray {
 public:
  PYBIND11_OBJECT(Array, AnyArray, IsOne)

  const T* data() const { return static_cast<const T*>(AnyArray::data()); }
  T* mutable_data() { return static_cast<T*>(AnyArray::mutable_data()); }

 private:
  static bool IsOne(PyObject* object) {
    return IsArray(object) && Holds(object, Dtype<T>::kKind, sizeof(T)) &&
           (kInAnyLayout || IsContiguous(object));
  }
};

}  // namespace headrace::cpu::bind

// What messages of the extension call them.
namespace pybind11::detail {

template <>
struct handle_type_name<headrace::cpu::bind::AnyArray> {
  static constexpr auto name = const_name("numpy.ndarray");
};

template <class T, bool kInAnyLayout>
struct handle_type_name<headrace::cpu::bind::Array<T, kInAnyLayout>> {
  static constexpr auto name =
      const_name("numpy.ndarray[") + headrace::cpu::bind::Dtype<T>::kName + const_name("]");
};

}  // namespace pybind11::detail
