// Images that are read at computed places.
#include <algorithm>

#include "bind_common.h"
#include "kernels/grid_sample.h"

namespace headrace::cpu::bind {
namespace {

Padding PaddingOf(const std::string& name) {
  if (name == "zeros") return Padding::kZeros;
  if (name == "border") return Padding::kBorder;
  if (name == "reflection") return Padding::kReflection;
  throw py::value_error("grid_sample: there is no padding '" + name + "'");
}

Launch BindGridSample(const Array<float>& x, const Array<float>& grid, Array<float>& y, int taps,
                      const std::string& padding, bool is_aligned, bool is_normalized) {
  constexpr const char* kOp = "grid_sample";
  const Size axes = x.ndim() - 2;
  if (axes < 1 || axes > kMostGridAxes || grid.ndim() != 3) {
    throw py::value_error("grid_sample: x must have 3 to 5 axes and grid 3");
  }
  if (taps != 1 && taps != 2 && taps != 4) {
    throw py::value_error("grid_sample: taps must be 1, 2 or 4");
  }
  GridSample g{x.shape(0), x.shape(1),         grid.shape(1), axes,         {1, 1, 1},
               taps,       PaddingOf(padding), is_aligned,    is_normalized};
  RequireShape(kOp, "grid", grid, {g.batch, g.points, axes});
  RequireShape(kOp, "y", y, {g.batch, g.channels, g.points});
  if (y.size() == 0) return {};
  const Dims sizes = Tail(Shape(x), 2);
  const std::int64_t plane = Product(sizes);
  for (Size axis = 0; axis < axes; ++axis) {
    const Size size = sizes[static_cast<std::size_t>(axis)];
    if (size < 1 || size > kMostGridSize || plane < 0 || plane > kLimit) {
      throw py::value_error("grid_sample: images of " + Text(sizes) + " elements are not read");
    }
    g.sizes[axis] = size;
  }
  const float* from = ReadPointer(kOp, "x", x);
  const float* places = ReadPointer(kOp, "grid", grid);
  float* to = WritePointer(kOp, "y", y);
  return {[=] { SampleGrid(g, from, places, to); }, py::make_tuple(x, grid, y)};
}

}  // namespace

void RegisterSampling(py::module_& m) {
  m.def("grid_sample", &BindGridSample, py::arg("x"), py::arg("grid"), py::arg("y"),
        py::arg("taps"), py::arg("padding"), py::arg("is_aligned"), py::arg("is_normalized"));
}

}  // namespace headrace::cpu::bind
