// Images that are read at other places: computed ones, or a few for each on an axis.
#include <memory>

#include "bind_common.h"
#include "kernels/images/grid_sample.h"
#include "kernels/images/resample.h"

namespace headrace::cpu::bind {
namespace {

Padding PaddingOf(const std::string& name) {
  constexpr std::array<const char*, 3> kPaddings = {"zeros", "border", "reflection"};
  return static_cast<Padding>(IndexOf("grid_sample", "padding", kPaddings, name));
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

template <class X, class Y>
Launch BindResample(const Array<X>& x, Array<Y>& y, const Array<std::int32_t>& sources,
                    const Array<SumOf<X>>& weights) {
  constexpr const char* kOp = "resample";
  if (x.ndim() != 3 || y.ndim() != 3 || sources.ndim() != 2 || sources.shape(1) < 1) {
    throw py::value_error("resample: x is " + Text(Shape(x)) + ", y is " + Text(Shape(y)) +
                          " and sources are " + Text(Shape(sources)) +
                          " but must have 3, 3 and 2 axes");
  }
  auto axis = std::make_shared<Resample<SumOf<X>>>();
  axis->outer = x.shape(0);
  axis->length = x.shape(1);
  axis->inner = x.shape(2);
  axis->count = sources.shape(0);
  axis->taps = sources.shape(1);
  RequireShape(kOp, "y", y, {axis->outer, axis->count, axis->inner});
  RequireShape(kOp, "weights", weights, Shape(sources));
  axis->sources.assign(sources.data(), sources.data() + sources.size());
  axis->weights.assign(weights.data(), weights.data() + weights.size());
  for (const std::int32_t source : axis->sources) {
    if (source < 0 || source >= axis->length) {
      throw py::value_error("resample: a source is " + std::to_string(source) + " but x is " +
                            Text(Shape(x)));
    }
  }
  if (y.size() == 0) return {};
  axis->Flatten();
  const X* from = ReadPointer(kOp, "x", x);
  Y* to = WritePointer(kOp, "y", y);
  return {[=] { Interpolate(*axis, from, to); }, py::make_tuple(x, y)};
}

template <class X, class Y>
void RegisterResample(py::module_& m) {
  m.def("resample", &BindResample<X, Y>, py::arg("x"), py::arg("y"), py::arg("sources"),
        py::arg("weights"));
}

}  // namespace

void RegisterSampling(py::module_& m) {
  m.def("grid_sample", &BindGridSample, py::arg("x"), py::arg("grid"), py::arg("y"),
        py::arg("taps"), py::arg("padding"), py::arg("is_aligned"), py::arg("is_normalized"));
  RegisterResample<float, float>(m);
#define HEADRACE_REGISTER(X, Y) RegisterResample<X, Y>(m);
  HEADRACE_RESAMPLED_IN_DOUBLES(HEADRACE_REGISTER)
#undef HEADRACE_REGISTER
}

}  // namespace headrace::cpu::bind
