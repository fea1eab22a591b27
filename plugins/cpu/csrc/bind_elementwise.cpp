#include "bind_common.h"
#include "kernels/elementwise/arange.h"
#include "kernels/elementwise/cast.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/machine/thread_pool.h"

namespace headrace::cpu::bind {
namespace {

using Doubles = Array<double>;

Launch BindUnary(const std::string& op, const Doubles& x, Doubles& y, double p, double q) {
  const UnaryLoop loop = Elementwise().unary(op.c_str());
  if (loop == nullptr) {
    throw py::value_error("there is no elementwise kernel of this dtype for op '" + op + "'");
  }
  RequireShape(op.c_str(), "y", y, Shape(x));
  const double* from = ReadPointer(op.c_str(), "x", x);
  double* to = WritePointer(op.c_str(), "y", y);
  const Size count = x.size();
  return {[=] {
            ParallelFor(count, PartElements(sizeof(double)), [&](Size begin, Size end) {
              loop(from + begin, to + begin, end - begin, p, q);
            });
          },
          py::make_tuple(x, y)};
}

template <class T>
Launch BindClip(const Array<T>& x, const std::optional<Array<T>>& low,
                const std::optional<Array<T>>& high, Array<T>& y) {
  constexpr const char* kOp = "clip";
  const Clips<T>& clips = Elementwise();
  if (low && low->size() != 1) RequireShape(kOp, "low", *low, {});
  if (high && high->size() != 1) RequireShape(kOp, "high", *high, {});
  RequireShape(kOp, "y", y, Shape(x));
  const T* from = ReadPointer(kOp, "x", x);
  const T* least = low ? ReadPointer(kOp, "low", *low) : nullptr;
  const T* most = high ? ReadPointer(kOp, "high", *high) : nullptr;
  T* to = WritePointer(kOp, "y", y);
  using Limits = std::numeric_limits<T>;
  constexpr T kLeast = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  constexpr T kMost = Limits::has_infinity ? Limits::infinity() : Limits::max();
  // The limits are read when the work is done: an earlier op may compute them.
  return {[=, clip = clips.clip, count = x.size()] {
            ParallelFor(count, PartElements(sizeof(T)), [&](Size begin, Size end) {
              clip(from + begin, least ? *least : kLeast, most ? *most : kMost, to + begin,
                   end - begin);
            });
          },
          py::make_tuple(x, low, high, y)};
}

int NumberOf(const char* name, const AnyArray& array) {
  static constexpr std::array<const char*, static_cast<std::size_t>(Number::kCount)> kNames = {
      "bool", "int8", "uint8", "int32", "int64", "float32", "float64", "float16", "bfloat16"};
  const std::string dtype = array.dtype_name();
  RequireContiguous("cast", name, array);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (dtype != kNames[i]) continue;
    RequireAligned("cast", name, array.data(), static_cast<std::size_t>(array.itemsize()));
    return static_cast<int>(i);
  }
  throw py::value_error(std::string("cast: ") + name + " cannot be of " + dtype);
}

// Elements that are worth a part of their own.
constexpr Size kCastGrain = 1 << 15;

Launch BindCast(const AnyArray& x, AnyArray& y) {
  const int read_number = NumberOf("x", x), made = NumberOf("y", y);
  if (made >= kMadeNumbers) throw py::value_error("cast: y cannot be of " + y.dtype_name());
  const CastLoop loop = Casts().loops[read_number][made];
  RequireShape("cast", "y", y, Shape(x));
  RequireWriteable("cast", "y", y);
  const auto* from = static_cast<const char*>(x.data());
  auto* to = static_cast<char*>(y.mutable_data());
  const Size count = x.size(), read = x.itemsize(), written = y.itemsize();
  return {[=] {
            ParallelFor(count, kCastGrain, [&](Size begin, Size end) {
              loop(from + begin * read, to + begin * written, end - begin);
            });
          },
          py::make_tuple(x, y)};
}

template <class T>
Launch BindArange(const Array<T>& start, const Array<T>& step, Array<T>& y) {
  constexpr const char* kOp = "arange";
  if (start.size() != 1) RequireShape(kOp, "start", start, {});
  if (step.size() != 1) RequireShape(kOp, "step", step, {});
  if (y.ndim() != 1) throw py::value_error("arange: y must have one axis");
  const T* first = ReadPointer(kOp, "start", start);
  const T* by = ReadPointer(kOp, "step", step);
  T* to = WritePointer(kOp, "y", y);
  const Size count = y.size();
  return {[=] { Arange(first, by, to, count); }, py::make_tuple(start, step, y)};
}

template <class T>
void RegisterArange(py::module_& m) {
  m.def("arange", &BindArange<T>, py::arg("start"), py::arg("step"), py::arg("y"));
}

template <class T>
void RegisterClip(py::module_& m) {
  m.def("clip", &BindClip<T>, py::arg("x"), py::arg("low"), py::arg("high"), py::arg("y"),
        "y[i] = min(max(x[i], low), high); NaN wins.\n\n"
        "x, y: T[...] of one shape; may be the same array. low, high: one element, or None.");
}

}  // namespace

void RegisterElementwise(py::module_& m) {
  m.def("unary", &BindUnary, py::arg("op"), py::arg("x"), py::arg("y"), py::arg("p") = 0.0,
        py::arg("q") = 0.0,
        "y[i] = f(x[i]) by the name of the op; p and q are its attributes.\n\n"
        "x, y: float64[...] of one shape; may be the same array.");
  RegisterClip<double>(m);
  RegisterClip<std::int8_t>(m);
  RegisterClip<std::uint8_t>(m);
  RegisterClip<std::int32_t>(m);
  RegisterClip<std::int64_t>(m);
  m.def("cast", &BindCast, py::arg("x"), py::arg("y"));
  RegisterArange<float>(m);
  RegisterArange<double>(m);
  RegisterArange<std::int32_t>(m);
  RegisterArange<std::int64_t>(m);
}

}  // namespace headrace::cpu::bind
