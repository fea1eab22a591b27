#include "numpy_array.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

namespace headrace::cpu::bind {
namespace {

static_assert(sizeof(npy_intp) == sizeof(py::ssize_t));

PyArrayObject* Of(const py::handle array) { return reinterpret_cast<PyArrayObject*>(array.ptr()); }

py::ssize_t At(const npy_intp* of_axes, const AnyArray& array, py::ssize_t axis) {
  if (axis >= 0 && axis < array.ndim()) return of_axes[axis];
  throw py::index_error("an array of " + std::to_string(array.ndim()) + " axes has no axis " +
                        std::to_string(axis));
}

// Numbers of more bytes are named otherwise on some machines.
constexpr npy_intp kLargestKnown = 8;

// What numpy's names of numbers begin with; their bits follow. Empty for others. To ask numpy takes
// 13 us, which is half of what it takes to bind a launch.
const char* NameOfKind(const char kind) {
  switch (kind) {
    case 'i':
      return "int";
    case 'u':
      return "uint";
    case 'f':
      return "float";
    default:
      return "";
  }
}

}  // namespace

void RequireNumpy() {
  if (_import_array() < 0) throw py::error_already_set();
}

py::ssize_t AnyArray::ndim() const { return PyArray_NDIM(Of(*this)); }

const py::ssize_t* AnyArray::shape() const { return PyArray_DIMS(Of(*this)); }

py::ssize_t AnyArray::shape(py::ssize_t axis) const { return At(shape(), *this, axis); }

py::ssize_t AnyArray::strides(py::ssize_t axis) const {
  return At(PyArray_STRIDES(Of(*this)), *this, axis);
}

py::ssize_t AnyArray::size() const { return PyArray_SIZE(Of(*this)); }

py::ssize_t AnyArray::itemsize() const { return PyArray_ITEMSIZE(Of(*this)); }

const void* AnyArray::data() const { return PyArray_DATA(Of(*this)); }

void* AnyArray::mutable_data() {
  if (!writeable()) throw py::value_error("an array that is written is read-only");
  return PyArray_DATA(Of(*this));
}

bool AnyArray::writeable() const { return PyArray_ISWRITEABLE(Of(*this)); }

bool AnyArray::contiguous() const { return IsContiguous(ptr()); }

std::string AnyArray::dtype_name() const {
  const PyArray_Descr* dtype = PyArray_DESCR(Of(*this));
  const std::string stem = NameOfKind(dtype->kind);
  const npy_intp itemsize = PyDataType_ELSIZE(dtype);
  if (!stem.empty() && itemsize <= kLargestKnown && PyArray_ISNBO(dtype->byteorder) &&
      !PyTypeNum_ISUSERDEF(dtype->type_num)) {
    return stem + std::to_string(8 * itemsize);
  }
  return py::str(py::handle(reinterpret_cast<PyObject*>(PyArray_DESCR(Of(*this)))));
}

bool AnyArray::IsArray(PyObject* object) { return PyArray_Check(object); }

bool AnyArray::Holds(PyObject* array, char kind, py::ssize_t itemsize) {
  const PyArray_Descr* dtype = PyArray_DESCR(Of(array));
  return dtype->kind == kind && PyDataType_ELSIZE(dtype) == itemsize &&
         PyArray_ISNBO(dtype->byteorder) && !PyTypeNum_ISUSERDEF(dtype->type_num);
}

bool AnyArray::IsContiguous(PyObject* array) { return PyArray_IS_C_CONTIGUOUS(Of(array)); }

}  // namespace headrace::cpu::bind
