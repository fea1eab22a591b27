#include "bind_common.h"
#include "kernels/rows/norm.h"

namespace headrace::cpu::bind {
namespace {

ChannelShape SeenFrom(const char* op, const AnyArray& x, py::ssize_t axis) {
  if (axis < 0 || axis >= x.ndim()) {
    throw py::value_error(std::string(op) + ": axis is " + std::to_string(axis) + " but x is " +
                          Text(Shape(x)));
  }
  ChannelShape shape{1, x.shape(axis), 1};
  for (py::ssize_t i = 0; i < axis; ++i) shape.outer *= x.shape(i);
  for (py::ssize_t i = axis + 1; i < x.ndim(); ++i) shape.inner *= x.shape(i);
  return shape;
}

template <class T>
Launch BindNormalization(const Array<T>& x, const Array<T>& mean, const Array<T>& variance,
                         const Array<T>& gamma, const Array<T>& beta, Array<T>& y, py::ssize_t axis,
                         double epsilon) {
  constexpr const char* kOp = "normalization";
  const ChannelShape shape = SeenFrom(kOp, x, axis);
  const Dims vector{shape.channels};
  RequireShape(kOp, "mean", mean, vector);
  RequireShape(kOp, "variance", variance, vector);
  RequireShape(kOp, "gamma", gamma, vector);
  RequireShape(kOp, "beta", beta, vector);
  RequireShape(kOp, "y", y, Shape(x));
  const T* from = ReadPointer(kOp, "x", x);
  const T* means = ReadPointer(kOp, "mean", mean);
  const T* variances = ReadPointer(kOp, "variance", variance);
  const T* gammas = ReadPointer(kOp, "gamma", gamma);
  const T* betas = ReadPointer(kOp, "beta", beta);
  T* to = WritePointer(kOp, "y", y);
  return {[=] { Normalization(from, means, variances, gammas, betas, to, shape, epsilon); },
          py::make_tuple(x, mean, variance, gamma, beta, y)};
}

template <class T>
Launch BindInstanceNorm(const Array<T>& x, const Array<T>& gamma, const Array<T>& beta, Array<T>& y,
                        double epsilon) {
  constexpr const char* kOp = "instance_norm";
  const ChannelShape shape = SeenFrom(kOp, x, 1);
  RequireShape(kOp, "gamma", gamma, {shape.channels});
  RequireShape(kOp, "beta", beta, {shape.channels});
  RequireShape(kOp, "y", y, Shape(x));
  if (y.size() == 0) return {};
  const T* from = ReadPointer(kOp, "x", x);
  const T* gammas = ReadPointer(kOp, "gamma", gamma);
  const T* betas = ReadPointer(kOp, "beta", beta);
  T* to = WritePointer(kOp, "y", y);
  return {[=] { InstanceNorm(from, gammas, betas, to, shape, epsilon); },
          py::make_tuple(x, gamma, beta, y)};
}

template <class T>
void RegisterNormFor(py::module_& m) {
  m.def("normalization", &BindNormalization<T>, py::arg("x"), py::arg("mean"), py::arg("variance"),
        py::arg("gamma"), py::arg("beta"), py::arg("y"), py::arg("axis"), py::arg("epsilon"),
        "y = (x - mean) / sqrt(variance + epsilon) * gamma + beta along an axis.\n\n"
        "x, y: T[...] of one shape; may be the same array. The others: T[length of axis]. T is\n"
        "float32 or float64.");
  m.def("instance_norm", &BindInstanceNorm<T>, py::arg("x"), py::arg("gamma"), py::arg("beta"),
        py::arg("y"), py::arg("epsilon"),
        "Bring each channel of each image to mean beta and deviation gamma.\n\n"
        "x, y: T[n, c, *spatial] of one shape; gamma, beta: T[c]. Sums are kept in double. T is\n"
        "float32 or float64. No overlap.");
}

}  // namespace

void RegisterNorm(py::module_& m) {
  RegisterNormFor<float>(m);
  RegisterNormFor<double>(m);
}

}  // namespace headrace::cpu::bind
