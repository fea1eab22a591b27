// Attention over strided heads.
#include "bind_common.h"
#include "kernels/sequences/attention.h"

namespace headrace::cpu::bind {
namespace {

// Steps in floats of axes [batch, heads, rows, columns] of a tensor that may have rows before
// heads.
struct Axes {
  Size batch, heads, rows, columns;
  Size batch_step, head_step, row_step;

  Axes(const char* name, const AnyArray& x, bool rows_first) {
    if (x.ndim() != 4) {
      throw py::value_error(std::string("attention: ") + name + " is " + Text(Shape(x)) +
                            " but must have four axes");
    }
    batch = x.shape(0);
    heads = x.shape(rows_first ? 2 : 1);
    rows = x.shape(rows_first ? 1 : 2);
    columns = x.shape(3);
    batch_step = heads * rows * columns;
    head_step = rows_first ? columns : rows * columns;
    row_step = rows_first ? heads * columns : columns;
  }
  Heads Of(const float* first) const { return {first, batch_step, head_step, row_step}; }
};

void RequireSize(const char* what, Size actual, Size expected) {
  if (actual == expected) return;
  throw py::value_error(std::string("attention: ") + what + " is " + std::to_string(actual) +
                        " but must be " + std::to_string(expected));
}

// `_native.HeadLayout`: which of q, k, v and y have rows before heads, and whether k is transposed.
struct HeadLayout {
  std::string rows_first;
  bool k_transposed;

  bool RowsFirst(char name) const { return rows_first.find(name) != std::string::npos; }
};

Launch BindAttention(const Floats& q, const Floats& k, const Floats& v, const MaybeFloats& mask,
                     Floats& y, Floats& panels, const HeadLayout& layout, float scale,
                     bool nan_is_zero) {
  constexpr const char* kOp = "attention";
  const Axes qs("q", q, layout.RowsFirst('q')), ks("k", k, layout.RowsFirst('k'));
  const Axes vs("v", v, layout.RowsFirst('v')), ys("y", y, layout.RowsFirst('y'));
  const bool k_transposed = layout.k_transposed;
  Attention a{};
  a.batch = qs.batch;
  a.heads = qs.heads;
  a.queries = qs.rows;
  a.depth = qs.columns;
  a.keys = k_transposed ? ks.columns : ks.rows;
  a.columns = vs.columns;
  for (const Axes* axes : {&ks, &vs, &ys}) {
    RequireSize("a batch", axes->batch, a.batch);
    RequireSize("the number of heads", axes->heads, a.heads);
  }
  RequireSize("the depth of k", k_transposed ? ks.rows : ks.columns, a.depth);
  RequireSize("the rows of v", vs.rows, a.keys);
  RequireSize("the rows of y", ys.rows, a.queries);
  RequireSize("the columns of y", ys.columns, a.columns);
  a.q = qs.Of(ReadPointer(kOp, "q", q));
  a.k = ks.Of(ReadPointer(kOp, "k", k));
  a.k_transposed = k_transposed;
  a.v = vs.Of(ReadPointer(kOp, "v", v));
  if (mask) {
    const Axes ms("mask", *mask, false);
    const auto step = [](Size size, Size full, Size step, const char* what) {
      if (size != 1) RequireSize(what, size, full);
      return size == 1 ? 0 : step;
    };
    RequireSize("the columns of the mask", ms.columns, a.keys);
    a.mask = {ReadPointer(kOp, "mask", *mask),
              step(ms.batch, a.batch, ms.batch_step, "the batch of the mask"),
              step(ms.heads, a.heads, ms.head_step, "the heads of the mask"),
              step(ms.rows, a.queries, ms.row_step, "the rows of the mask")};
  }
  a.y = WritePointer(kOp, "y", y);
  a.y_batch_step = ys.batch_step;
  a.y_head_step = ys.head_step;
  a.y_row_step = ys.row_step;
  a.scale = scale;
  a.nan_is_zero = nan_is_zero;
  RequireShape(kOp, "panels", panels, {a.batch * a.heads * a.PanelFloats()});
  a.panels = WritePointer(kOp, "panels", panels);
  if (y.size() == 0) return {};
  return {[a] { Attend(a); }, py::make_tuple(q, k, v, mask, y, panels)};
}

}  // namespace

void RegisterAttention(py::module_& m) {
  py::class_<HeadLayout>(m, "HeadLayout", "How the axes of attention lie.")
      .def(py::init<std::string, bool>(), py::arg("rows_first") = "",
           py::arg("k_transposed") = false);
  m.def("attention", &BindAttention, py::arg("q"), py::arg("k"), py::arg("v"), py::arg("mask"),
        py::arg("y"), py::arg("panels"), py::arg("layout"), py::arg("scale"),
        py::arg("nan_is_zero"));
}

}  // namespace headrace::cpu::bind
