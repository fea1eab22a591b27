// Recurrent layers.
#include <optional>

#include "bind_common.h"
#include "kernels/gemm.h"
#include "kernels/recurrent.h"

namespace headrace::cpu::bind {
namespace {

using Floats = Array<float>;
using MaybeFloats = std::optional<Floats>;

// `_native.RecurrentWeights`.
struct WeightsArgs {
  Floats w;
  Floats r;
  MaybeFloats b;
};

// `_native.RecurrentState`, where a layer begins or what it leaves.
struct StateArgs {
  MaybeFloats h;
  MaybeFloats c;
};

Launch BindRecurrent(const std::string& kind, const Floats& x, const WeightsArgs& weights,
                     const StateArgs& begin, Floats& y, StateArgs& end, Floats& scratch,
                     const std::vector<bool>& reversed, bool linear_before_reset) {
  const char* op = kind.c_str();
  const bool is_lstm = kind == "lstm";
  if (!is_lstm && kind != "gru")
    throw py::value_error("there is no recurrent layer '" + kind + "'");
  if (x.ndim() != 3 || y.ndim() != 4 || reversed.empty() || reversed.size() > 2) {
    throw py::value_error(kind + ": x is " + Text(Shape(x)) + " and y is " + Text(Shape(y)) +
                          "; these have three and four axes, and there are one or two directions");
  }
  Recurrent layer{};
  layer.shape = {x.shape(0), x.shape(1), x.shape(2), y.shape(3),
                 static_cast<Size>(reversed.size())};
  const auto& s = layer.shape;
  const Size rows = (is_lstm ? 4 : 3) * s.hidden;
  const Dims state{s.directions, s.batch, s.hidden};
  const Size of_r = is_lstm ? PanelCount(rows) : 3 * PanelCount(s.hidden);
  RequireShape(op, "w", weights.w, {s.directions * PanelCount(rows), s.features, kPanel});
  RequireShape(op, "r", weights.r, {s.directions * of_r, s.hidden, kPanel});
  RequireShape(op, "y", y, {s.steps, s.directions, s.batch, s.hidden});
  RequireShape(op, "scratch", scratch, {is_lstm ? LstmScratchFloats(s) : GruScratchFloats(s)});
  const auto maybe = [&](const char* name, const MaybeFloats& array, const Dims& wanted) {
    if (!array) return static_cast<const float*>(nullptr);
    RequireShape(op, name, *array, wanted);
    return ReadPointer(op, name, *array);
  };
  const auto maybe_made = [&](const char* name, MaybeFloats& array) {
    if (!array) return static_cast<float*>(nullptr);
    RequireShape(op, name, *array, state);
    return WritePointer(op, name, *array);
  };
  layer.x = ReadPointer(op, "x", x);
  layer.w = ReadPointer(op, "w", weights.w);
  layer.r = ReadPointer(op, "r", weights.r);
  layer.b = maybe("b", weights.b, {s.directions, 2 * rows});
  layer.h = maybe("h", begin.h, state);
  layer.c = maybe("c", begin.c, state);
  layer.y = WritePointer(op, "y", y);
  layer.y_h = maybe_made("h at the end", end.h);
  layer.y_c = maybe_made("c at the end", end.c);
  layer.scratch = WritePointer(op, "scratch", scratch);
  for (std::size_t d = 0; d < reversed.size(); ++d) layer.reversed[d] = reversed[d];
  layer.linear_before_reset = linear_before_reset;
  if (y.size() == 0) throw py::value_error(kind + ": there is nothing to compute");
  py::tuple arrays = py::make_tuple(x, weights.w, weights.r, weights.b, begin.h, begin.c, y, end.h,
                                    end.c, scratch);
  if (is_lstm) return {[layer] { Lstm(layer); }, arrays};
  return {[layer] { Gru(layer); }, arrays};
}

Size ScratchFloats(const std::string& kind, Size steps, Size batch, Size features, Size hidden) {
  const RecurrentShape shape{steps, batch, features, hidden, 1};
  return kind == "lstm" ? LstmScratchFloats(shape) : GruScratchFloats(shape);
}

}  // namespace

void RegisterRecurrent(py::module_& m) {
  m.def("recurrent_scratch", &ScratchFloats, py::arg("kind"), py::arg("steps"), py::arg("batch"),
        py::arg("features"), py::arg("hidden"));
  py::class_<WeightsArgs>(m, "RecurrentWeights", "Packed weights of a recurrent layer.")
      .def(py::init<Floats, Floats, MaybeFloats>(), py::arg("w").noconvert(),
           py::arg("r").noconvert(), py::arg("b").noconvert() = py::none());
  py::class_<StateArgs>(m, "RecurrentState", "What a recurrent layer carries from step to step.")
      .def(py::init<MaybeFloats, MaybeFloats>(), py::arg("h").noconvert() = py::none(),
           py::arg("c").noconvert() = py::none());
  m.def("recurrent", &BindRecurrent, py::arg("kind"), py::arg("x").noconvert(), py::arg("weights"),
        py::arg("begin"), py::arg("y").noconvert(), py::arg("end"), py::arg("scratch").noconvert(),
        py::arg("reversed"), py::arg("linear_before_reset"));
}

}  // namespace headrace::cpu::bind
