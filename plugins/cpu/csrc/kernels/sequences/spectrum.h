// Spectra of rows of float32 numbers, and signals of spectra: transforms of real and of complex
// rows, whole or from one side. See fourier.h for how one is made; the spectrum of a short row is
// summed in float64, as its definition has it.
#pragma once

#include <vector>

#include "kernels/sequences/fourier.h"

namespace headrace::cpu {

// What is transformed; the arithmetic is that of the op `dft`.
struct SpectrumForm {
  Size length;
  int parts;  // of a number of x: 1 or 2
  bool is_inverse, is_onesided;
};

// Rows that begin `step` floats after each other in each of `batch` signals.
struct SpectrumRows {
  Size batch, rows;
  Size signal;  // floats from one signal to the next
  Size step;
  Size floats;          // of a row that are there
  const float* window;  // of `length` numbers, or null
};

class Spectrum {
 public:
  explicit Spectrum(const SpectrumForm& form);

  // Floats of the scratch of a transform that all threads make together, and 0 for one that is so
  // short that each thread makes its own rows.
  static Size SharedFloats(const SpectrumForm& form);

  // y: [batch, rows, bins, parts]. `scratch`: SharedFloats(form), or null if that is 0.
  void Run(const float* x, const SpectrumRows& rows, float* y, float* scratch) const;

 private:
  void Row(const float* x, Size floats, const float* window, float* y, float* scratch) const;
  void OfReal(const float* x, Size floats, float* y, float* scratch) const;
  void OfHalf(const float* x, Size floats, float* y, float* scratch) const;
  void OfShort(const float* x, Size floats, const float* window, float* y) const;

  SpectrumForm form_;
  Size bins_;     // of a row of y
  bool is_real_;  // a real row of even length: half as many pairs are transformed
  std::vector<double> cosines_, sines_;  // [length][bins_] of a short row; else none
  Fourier fourier_;
  std::vector<float> turns_;
};

}  // namespace headrace::cpu
