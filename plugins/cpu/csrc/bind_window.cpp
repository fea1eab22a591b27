#include "bind_window.h"

namespace headrace::cpu::bind {

void RequireSpatialRank(const char* op, const char* name, const AnyArray& array,
                        std::size_t leading) {
  const Dims dims = Shape(array);
  if (dims.size() > leading && dims.size() <= leading + 3) return;
  throw py::value_error(std::string(op) + ": " + name + " is " + Text(dims) +
                        " but must have 1 to 3 spatial axes after " + std::to_string(leading) +
                        " leading ones");
}

std::array<Size, 3> Align(const Dims& dims, Size missing) {
  std::array<Size, 3> aligned{missing, missing, missing};
  for (std::size_t i = 0; i < dims.size(); ++i) aligned[3 - dims.size() + i] = dims[i];
  return aligned;
}

Dims Spatial(const Dims& dims) { return Dims(dims.begin() + 1, dims.end() - 1); }

Window MakeWindow(const char* op, const Dims& in, const Dims& out, const WindowArgs& args,
                  std::int64_t lowest_pad) {
  const std::size_t rank = in.size();
  RequireDims(op, "the spatial input shape", in, rank, 0);
  RequireDims(op, "the spatial output shape", out, rank, 0);
  RequireDims(op, "kernel", args.kernel, rank, 1);
  RequireDims(op, "strides", args.strides, rank, 1);
  RequireDims(op, "dilations", args.dilations, rank, 1);
  RequireDims(op, "pads_begin", args.pads_begin, rank, lowest_pad);
  Window w;
  w.in = Align(in, 1);
  w.out = Align(out, 1);
  w.kernel = Align(args.kernel, 1);
  w.stride = Align(args.strides, 1);
  w.dilation = Align(args.dilations, 1);
  w.pad = Align(args.pads_begin, 0);
  return w;
}

Window ImageWindow(const char* op, const AnyArray& x, const AnyArray& y, const WindowArgs& args) {
  RequireSpatialRank(op, "x", x, 2);
  const Dims in = Shape(x), out = Shape(y);
  if (out.size() != in.size() || out[0] != in[0]) {
    throw py::value_error(std::string(op) + ": y is " + Text(out) + " but x is " + Text(in) +
                          "; rank and batch must agree");
  }
  return MakeWindow(op, Spatial(in), Spatial(out), args);
}

Window ChannelWindow(const char* op, const AnyArray& x, const AnyArray& y, const WindowArgs& args) {
  const Window window = ImageWindow(op, x, y, args);
  const Dims in = Shape(x), out = Shape(y);
  if (out.back() == in.back()) return window;
  throw py::value_error(std::string(op) + ": y is " + Text(out) + " but x is " + Text(in) +
                        "; channels must agree");
}

void RegisterWindow(py::module_& m) {
  py::class_<WindowArgs>(m, "Window", "Where the windows of a convolution or a pool lie.")
      .def(py::init<Dims, Dims, Dims, Dims>(), py::arg("kernel"), py::arg("strides"),
           py::arg("dilations"), py::arg("pads_begin"));
}

}  // namespace headrace::cpu::bind
