// Spectra of signals.
#include <memory>

#include "bind_common.h"
#include "kernels/sequences/spectrum.h"

namespace headrace::cpu::bind {
namespace {

SpectrumForm FormOf(const char* op, Size length, Size parts, bool is_inverse, bool is_onesided) {
  if (length < 1 || length > kLimit / 4 || (parts != 1 && parts != 2)) {
    throw py::value_error(std::string(op) + ": there is no transform of " + std::to_string(length) +
                          " numbers of " + std::to_string(parts) + " parts");
  }
  return {length, static_cast<int>(parts), is_inverse, is_onesided};
}

Size SpectrumFloats(Size length, Size parts, bool is_inverse, bool is_onesided) {
  return Spectrum::SharedFloats(FormOf("spectrum_floats", length, parts, is_inverse, is_onesided));
}

Launch BindSpectrum(const Array<float>& x, const std::optional<Array<float>>& window,
                    Array<float>& scratch, Array<float>& y, Size length, Size step, bool is_inverse,
                    bool is_onesided) {
  constexpr const char* kOp = "spectrum";
  if (x.ndim() != 3 || y.ndim() != 4) {
    throw py::value_error("spectrum: x must have three axes and y four");
  }
  const Size batch = x.shape(0), parts = x.shape(2), rows = y.shape(1);
  const SpectrumForm form = FormOf(kOp, length, parts, is_inverse, is_onesided);
  const bool makes_real = is_inverse && is_onesided;
  const Size bins = is_onesided && !is_inverse ? length / 2 + 1 : length;
  RequireShape(kOp, "y", y, {batch, rows, bins, makes_real ? 1 : 2});
  if (rows != 1 && (step < 1 || length > x.shape(1) || rows > (x.shape(1) - length) / step + 1)) {
    throw py::value_error("spectrum: frames " + std::to_string(step) + " numbers apart do not fit");
  }
  if (window && is_inverse) throw py::value_error("spectrum: an inverse has no window");
  const float* factors = ReadIfGiven(kOp, "window", window, {length});
  RequireShape(kOp, "scratch", scratch, {Spectrum::SharedFloats(form)});
  if (y.size() == 0) return {};
  const Size floats = x.shape(1) * parts;
  const SpectrumRows source{
      batch,  rows, floats, rows == 1 ? 0 : step * parts, rows == 1 ? floats : length * parts,
      factors};
  const float* from = ReadPointer(kOp, "x", x);
  float* to = WritePointer(kOp, "y", y);
  float* shared = scratch.size() == 0 ? nullptr : WritePointer(kOp, "scratch", scratch);
  const auto spectrum = std::make_shared<const Spectrum>(form);
  return {[=] { spectrum->Run(from, source, to, shared); }, py::make_tuple(x, window, scratch, y)};
}

}  // namespace

void RegisterSpectrum(py::module_& m) {
  m.def("spectrum_floats", &SpectrumFloats, py::arg("length"), py::arg("parts"),
        py::arg("is_inverse"), py::arg("is_onesided"));
  m.def("spectrum", &BindSpectrum, py::arg("x"), py::arg("window"), py::arg("scratch"),
        py::arg("y"), py::arg("length"), py::arg("step"), py::arg("is_inverse"),
        py::arg("is_onesided"));
}

}  // namespace headrace::cpu::bind
