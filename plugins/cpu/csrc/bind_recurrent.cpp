// Recurrent layers.
#include <optional>

#include "bind_common.h"
#include "kernels/gemm.h"
#include "kernels/recurrent.h"

namespace headrace::cpu::bind {
namespace {

using Floats = Array<float>;
using MaybeFloats = std::optional<Floats>;

Launch BindRecurrent(const std::string& kind, const Floats& x, const Floats& w, const Floats& r,
                     const MaybeFloats& b, const MaybeFloats& h, const MaybeFloats& c, Floats& y,
                     std::optional<Floats>& y_h, std::optional<Floats>& y_c, Floats& scratch,
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
  RequireShape(op, "w", w, {s.directions * PanelCount(rows), s.features, kPanel});
  RequireShape(op, "r", r, {s.directions * of_r, s.hidden, kPanel});
  RequireShape(op, "y", y, {s.steps, s.directions, s.batch, s.hidden});
  RequireShape(op, "scratch", scratch, {is_lstm ? LstmScratchFloats(s) : GruScratchFloats(s)});
  const auto maybe = [&](const char* name, const MaybeFloats& array, const Dims& wanted) {
    if (!array) return static_cast<const float*>(nullptr);
    RequireShape(op, name, *array, wanted);
    return ReadPointer(op, name, *array);
  };
  const auto maybe_made = [&](const char* name, std::optional<Floats>& array) {
    if (!array) return static_cast<float*>(nullptr);
    RequireShape(op, name, *array, state);
    return WritePointer(op, name, *array);
  };
  layer.x = ReadPointer(op, "x", x);
  layer.w = ReadPointer(op, "w", w);
  layer.r = ReadPointer(op, "r", r);
  layer.b = maybe("b", b, {s.directions, 2 * rows});
  layer.h = maybe("h", h, state);
  layer.c = maybe("c", c, state);
  layer.y = WritePointer(op, "y", y);
  layer.y_h = maybe_made("y_h", y_h);
  layer.y_c = maybe_made("y_c", y_c);
  layer.scratch = WritePointer(op, "scratch", scratch);
  for (std::size_t d = 0; d < reversed.size(); ++d) layer.reversed[d] = reversed[d];
  layer.linear_before_reset = linear_before_reset;
  if (y.size() == 0) throw py::value_error(kind + ": there is nothing to compute");
  py::tuple arrays = py::make_tuple(x, w, r, b, h, c, y, y_h, y_c, scratch);
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
  m.def("recurrent", &BindRecurrent, py::arg("kind"), py::arg("x").noconvert(),
        py::arg("w").noconvert(), py::arg("r").noconvert(), py::arg("b").noconvert(),
        py::arg("h").noconvert(), py::arg("c").noconvert(), py::arg("y").noconvert(),
        py::arg("y_h").noconvert(), py::arg("y_c").noconvert(), py::arg("scratch").noconvert(),
        py::arg("reversed"), py::arg("linear_before_reset"));
}

}  // namespace headrace::cpu::bind
