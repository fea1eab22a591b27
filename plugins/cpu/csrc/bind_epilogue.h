// What follows a product, as Python says it.
#pragma once

#include <optional>
#include <string>

#include "bind_common.h"
#include "kernels/gemm.h"

namespace headrace::cpu::bind {

using Floats = Array<float>;
using MaybeFloats = std::optional<Floats>;

struct EpilogueArgs {
  const MaybeFloats& bias;
  const MaybeFloats& addend;
  const std::string& activation;
  float alpha;
  float beta;
  bool addend_last;
};

// The addend has the shape of y, whose last axis is `columns`. Throws ValueError if something does
// not fit.
Epilogue MakeEpilogue(const char* op, const EpilogueArgs& args, const py::array& y, Size columns);

}  // namespace headrace::cpu::bind
