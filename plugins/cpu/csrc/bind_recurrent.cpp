// Recurrent layers.
#include "bind_common.h"
#include "kernels/products/gemm.h"
#include "kernels/quantized/recurrent_integer.h"
#include "kernels/sequences/recurrent.h"

namespace headrace::cpu::bind {
namespace {

// `_native.RecurrentWeights`.
struct RecurrentWeightsArgs {
  Floats w;
  Floats r;
  MaybeFloats b;
};

// `_native.RecurrentState`, where a layer begins or what it leaves.
struct StateArgs {
  MaybeFloats h;
  MaybeFloats c;
};

// What layers differ in.
struct Kind {
  const char* name;
  Size gates;
  Size r_groups;  // of panels, for each direction
  Size (*scratch_floats)(const RecurrentShape& shape);
  void (*run)(const Recurrent& layer);
  bool relu;
};

const Kind& KindOf(const std::string& name) {
  static constexpr std::array<Kind, 4> kKinds = {{
      {"lstm", 4, 1, LstmScratchFloats, Lstm, false},
      {"gru", 3, 3, GruScratchFloats, Gru, false},
      {"rnn", 1, 1, RnnScratchFloats, Rnn, false},
      {"rnn_relu", 1, 1, RnnScratchFloats, Rnn, true},
  }};
  for (const Kind& kind : kKinds) {
    if (name == kind.name) return kind;
  }
  throw py::value_error("there is no recurrent layer '" + name + "'");
}

Launch BindRecurrent(const std::string& kind, const Floats& x, const RecurrentWeightsArgs& weights,
                     const StateArgs& begin, Floats& y, StateArgs& end, Floats& scratch,
                     const std::vector<bool>& reversed, bool linear_before_reset,
                     const std::optional<Array<std::int32_t>>& lengths) {
  const Kind& of = KindOf(kind);
  const char* op = kind.c_str();
  if (x.ndim() != 3 || y.ndim() != 4 || reversed.empty() || reversed.size() > 2) {
    throw py::value_error(kind + ": x is " + Text(Shape(x)) + " and y is " + Text(Shape(y)) +
                          "; these have three and four axes, and there are one or two directions");
  }
  Recurrent layer{};
  layer.shape = {x.shape(0), x.shape(1), x.shape(2), y.shape(3),
                 static_cast<Size>(reversed.size())};
  const auto& s = layer.shape;
  const Size rows = of.gates * s.hidden;
  const Dims state{s.directions, s.batch, s.hidden};
  const Size of_r = of.r_groups * PanelCount(rows / of.r_groups);
  RequireShape(op, "w", weights.w, {s.directions * PanelCount(rows), s.features, kPanel});
  RequireShape(op, "r", weights.r, {s.directions * of_r, s.hidden, kPanel});
  RequireShape(op, "y", y, {s.steps, s.directions, s.batch, s.hidden});
  RequireShape(op, "scratch", scratch, {of.scratch_floats(s)});
  layer.x = ReadPointer(op, "x", x);
  layer.w = ReadPointer(op, "w", weights.w);
  layer.r = ReadPointer(op, "r", weights.r);
  layer.b = ReadIfGiven(op, "b", weights.b, {s.directions, 2 * rows});
  layer.h = ReadIfGiven(op, "h", begin.h, state);
  layer.c = ReadIfGiven(op, "c", begin.c, state);
  layer.lengths = ReadIfGiven(op, "lengths", lengths, {s.batch});
  layer.y = WritePointer(op, "y", y);
  layer.y_h = WriteIfGiven(op, "h at the end", end.h, state);
  layer.y_c = WriteIfGiven(op, "c at the end", end.c, state);
  layer.scratch = WritePointer(op, "scratch", scratch);
  for (std::size_t d = 0; d < reversed.size(); ++d) layer.reversed[d] = reversed[d];
  layer.linear_before_reset = linear_before_reset;
  layer.relu = of.relu;
  if (y.size() == 0) throw py::value_error(kind + ": there is nothing to compute");
  py::tuple arrays = py::make_tuple(x, weights.w, weights.r, weights.b, begin.h, begin.c, y, end.h,
                                    end.c, scratch, lengths);
  return {[layer, run = of.run] { run(layer); }, arrays};
}

// `_native.IntegerRecurrentWeights`.
struct IntegerRecurrentWeightsArgs {
  Array<std::int8_t> panels;
  Array<std::int32_t> sums;
  Floats scale;
  std::optional<Array<std::int32_t>> zeros;
};

Launch BindIntegerLstm(const Floats& drive, const IntegerRecurrentWeightsArgs& weights,
                       const StateArgs& begin, Floats& y, StateArgs& end, Floats& scratch,
                       bool reversed) {
  constexpr const char* kOp = "integer_lstm";
  if (y.ndim() != 3 || y.size() == 0) {
    throw py::value_error(std::string(kOp) + ": y is " + Text(Shape(y)) +
                          "; it must have three axes, none of them empty");
  }
  IntegerLstm layer{};
  layer.steps = y.shape(0);
  layer.batch = y.shape(1);
  layer.hidden = y.shape(2);
  const Size columns = 4 * layer.hidden;
  const Dims state{layer.batch, layer.hidden};
  RequireShape(kOp, "drive", drive, {layer.steps, layer.batch, columns});
  RequireShape(kOp, "panels", weights.panels,
               {PanelCount(columns), Quads(layer.hidden), kPanel, kQuad});
  RequireShape(kOp, "sums", weights.sums, {columns});
  if (weights.scale.size() != 1) RequireShape(kOp, "scale", weights.scale, {columns});
  RequireShape(kOp, "scratch", scratch, {IntegerLstmScratchFloats(layer.batch, layer.hidden)});
  layer.drive = ReadPointer(kOp, "drive", drive);
  layer.panels = ReadPointer(kOp, "panels", weights.panels);
  layer.sums = ReadPointer(kOp, "sums", weights.sums);
  layer.zeros = ReadIfGiven(kOp, "zeros", weights.zeros, {columns});
  layer.scale = ReadPointer(kOp, "scale", weights.scale);
  layer.scale_step = weights.scale.size() == 1 ? 0 : 1;
  layer.h = ReadIfGiven(kOp, "h", begin.h, state);
  layer.c = ReadIfGiven(kOp, "c", begin.c, state);
  layer.y = WritePointer(kOp, "y", y);
  layer.y_h = WriteIfGiven(kOp, "h at the end", end.h, state);
  layer.y_c = WriteIfGiven(kOp, "c at the end", end.c, state);
  layer.scratch = WritePointer(kOp, "scratch", scratch);
  layer.reversed = reversed;
  return {[layer] { Lstm(layer); },
          py::make_tuple(drive, weights.panels, weights.sums, weights.scale, weights.zeros, begin.h,
                         begin.c, y, end.h, end.c, scratch)};
}

Size ScratchFloats(const std::string& kind, Size steps, Size batch, Size features, Size hidden) {
  return KindOf(kind).scratch_floats({steps, batch, features, hidden, 1});
}

}  // namespace

void RegisterRecurrent(py::module_& m) {
  m.def("recurrent_scratch", &ScratchFloats, py::arg("kind"), py::arg("steps"), py::arg("batch"),
        py::arg("features"), py::arg("hidden"));
  py::class_<RecurrentWeightsArgs>(m, "RecurrentWeights", "Packed weights of a recurrent layer.")
      .def(py::init<Floats, Floats, MaybeFloats>(), py::arg("w"), py::arg("r"),
           py::arg("b") = py::none());
  py::class_<StateArgs>(m, "RecurrentState", "What a recurrent layer carries from step to step.")
      .def(py::init<MaybeFloats, MaybeFloats>(), py::arg("h") = py::none(),
           py::arg("c") = py::none());
  m.def("recurrent", &BindRecurrent, py::arg("kind"), py::arg("x"), py::arg("weights"),
        py::arg("begin"), py::arg("y"), py::arg("end"), py::arg("scratch"), py::arg("reversed"),
        py::arg("linear_before_reset"), py::arg("lengths") = py::none());
  py::class_<IntegerRecurrentWeightsArgs>(m, "IntegerRecurrentWeights", "Packed weights of bytes.")
      .def(py::init<Array<std::int8_t>, Array<std::int32_t>, Floats,
                    std::optional<Array<std::int32_t>>>(),
           py::arg("panels"), py::arg("sums"), py::arg("scale"), py::arg("zeros") = py::none());
  m.def("integer_lstm_scratch", &IntegerLstmScratchFloats, py::arg("batch"), py::arg("hidden"));
  m.def("integer_lstm", &BindIntegerLstm, py::arg("drive"), py::arg("weights"), py::arg("begin"),
        py::arg("y"), py::arg("end"), py::arg("scratch"), py::arg("reversed"));
}

}  // namespace headrace::cpu::bind
