// What follows a product, as Python says it.
#pragma once

#include <optional>
#include <string>

#include "bind_common.h"
#include "kernels/products/gemm.h"

namespace headrace::cpu::bind {

// `_native.Epilogue`. Whether it fits is asked when it is used.
struct EpilogueArgs {
  MaybeFloats bias;
  MaybeFloats addend;
  std::string activation = "none";
  float alpha = 0;
  float beta = 0;
  bool addend_last = false;
};

// The last argument of a function: nothing follows unless it is said.
inline py::arg_v EpilogueArg() { return py::arg_v("epilogue", EpilogueArgs{}, "Epilogue()"); }

// The addend has the shape of y, whose last axis is `columns`. Throws ValueError if something does
// not fit.
Epilogue MakeEpilogue(const char* op, const EpilogueArgs& args, const AnyArray& y, Size columns);

}  // namespace headrace::cpu::bind
