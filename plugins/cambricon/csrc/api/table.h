// The functions of the vendor's libraries as a struct of pointers; null for those that a library
// has not.
#pragma once

#include "types.h"

namespace headrace::cambricon {

struct Api {
#define CNRT(result, name, role, first, last, parameters) result(*name) parameters = nullptr;
#include "cnrt.inc"
#undef CNRT
#define CNNL(name, parameters) int(*name) parameters = nullptr;
#define CNNL_NEEDED CNNL
#define CNNL_SHAPE(alias, name, parameters) int(*alias) parameters = nullptr;
#include "cnnl.inc"
#undef CNNL
#undef CNNL_NEEDED
#undef CNNL_SHAPE
  void (*cnnlGetLibVersion)(int* major, int* minor, int* patch) = nullptr;
  const char* (*cnnlGetErrorString)(int status) = nullptr;

  // Of the stand-in alone; a real library has no name that begins so.
  int (*mlusim_era)() = nullptr;
  int (*mlusim_enum)(const char* name, int* value) = nullptr;
};

}  // namespace headrace::cambricon
