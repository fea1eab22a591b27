// Every function of cnnl.inc by its name, with arguments from Python.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "call.h"

namespace headrace::cambricon {

// True when the library has the function.
bool HasFunction(const Library& library, const std::string& name);

// A call to be run many times. Throws a type error for arguments that do not fit, and for functions
// that fill something in.
std::shared_ptr<Call> MakeCall(const Library& library, const std::string& name,
                               pybind11::args arguments);

// Calls once. `handle` may be null for functions that take none. Returns what the function fills
// in: None, a number, or a tuple of them.
pybind11::object CallOnce(const Library& library, cnnlHandle_t handle, const std::string& name,
                          pybind11::args arguments);

}  // namespace headrace::cambricon
