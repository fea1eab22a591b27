// Where windows lie, as Python says it.
#pragma once

#include "bind_common.h"
#include "kernels/windows/window.h"

namespace headrace::cpu::bind {

// `_native.Window`: one number for each spatial axis. Whether they fit is asked when they are used.
struct WindowArgs {
  Dims kernel;
  Dims strides;
  Dims dilations;
  Dims pads_begin;
};

// Throws ValueError unless the array has 1 to 3 spatial axes after `leading` others.
void RequireSpatialRank(const char* op, const char* name, const AnyArray& array,
                        std::size_t leading);

// Checks lengths and signs against the spatial shapes. Every number stays below 2^31, so that no
// product of two of them overflows inside a kernel.
Window MakeWindow(const char* op, const Dims& in, const Dims& out, const WindowArgs& args,
                  std::int64_t lowest_pad = 0);

// The same for images whose channels are last: x and y have one rank and one batch.
Window ImageWindow(const char* op, const AnyArray& x, const AnyArray& y, const WindowArgs& args);

// The same where each channel is looked at by itself: x and y have the same channels.
Window ChannelWindow(const char* op, const AnyArray& x, const AnyArray& y, const WindowArgs& args);

// `dims` right-aligned in the three axes of a Window.
std::array<Size, 3> Align(const Dims& dims, Size missing);

// What lies between the first axis and the last.
Dims Spatial(const Dims& dims);

}  // namespace headrace::cpu::bind
