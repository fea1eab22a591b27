// Attention over what was seen before: caches, what is read of them, and rotary embeddings.
#include "bind_common.h"
#include "kernels/sequences/cache.h"
#include "kernels/sequences/cached_attention.h"
#include "kernels/sequences/rotary.h"

namespace headrace::cpu::bind {
namespace {

using Places = Array<std::int64_t>;
using MaybePlaces = std::optional<Places>;

Launch BindCacheWrite(const AnyArray& x, const std::optional<AnyArray>& past, const Places& before,
                      AnyArray& y, bool clears) {
  constexpr const char* kOp = "cache_write";
  if (x.ndim() != 4 || y.ndim() != 4) throw py::value_error("cache_write: x and y have four axes");
  RequireContiguous(kOp, "x", x);
  RequireContiguous(kOp, "y", y);
  CacheWrite w{};
  w.bytes = x.shape(3) * ItemSize(kOp, x, y);
  w.batch = x.shape(0);
  w.heads = x.shape(1);
  w.steps = x.shape(2);
  w.length = y.shape(2);
  RequireShape(kOp, "y", y, {w.batch, w.heads, w.length, x.shape(3)});
  RequireShape(kOp, "before", before, {w.batch});
  if (past) {
    RequireContiguous(kOp, "past", *past);
    ItemSize(kOp, *past, y);
    w.room = past->ndim() == 4 ? past->shape(2) : -1;
    if (w.room > w.length) throw py::value_error("cache_write: past is longer than y");
    RequireShape(kOp, "past", *past, {w.batch, w.heads, w.room, x.shape(3)});
    w.past = static_cast<const char*>(past->data());
  }
  RequireWriteable(kOp, "y", y);
  w.x = static_cast<const char*>(x.data());
  w.before = ReadPointer(kOp, "before", before);
  w.y = static_cast<char*>(y.mutable_data());
  w.clears = clears;
  return {[w] { WriteCache(w); }, py::make_tuple(x, past, before, y)};
}

// `bias` [batch or 1, heads or 1, steps or 1, length] as the kernel steps through it.
Heads BiasOf(const CachedAttention& a, const Floats& bias) {
  const Dims shape = Shape(bias), whole{a.batch, a.heads, a.steps, a.length};
  bool fits = shape.size() == 4 && shape[3] == a.length;
  for (std::size_t i = 0; fits && i < 3; ++i) fits = shape[i] == 1 || shape[i] == whole[i];
  if (!fits) {
    throw py::value_error("cached_attention: bias is " + Text(shape) + " but must broadcast to " +
                          Text(whole));
  }
  const auto step = [&shape](std::size_t axis, Size floats) {
    return shape[axis] == 1 ? 0 : floats;
  };
  return {ReadPointer("cached_attention", "bias", bias), step(0, shape[1] * shape[2] * a.length),
          step(1, shape[2] * a.length), step(2, a.length)};
}

Launch BindCachedAttention(const Floats& q, const Floats& k, const Floats& v, const Places& before,
                           const MaybePlaces& end, const MaybeFloats& bias, const MaybeFloats& sink,
                           Floats& y, Floats& panels, float scale, bool causal, Size window,
                           float softcap) {
  constexpr const char* kOp = "cached_attention";
  if (q.ndim() != 4 || k.ndim() != 4 || v.ndim() != 4) {
    throw py::value_error("cached_attention: q, k and v have four axes");
  }
  CachedAttention a{};
  a.batch = q.shape(0);
  a.heads = q.shape(1);
  a.steps = q.shape(2);
  a.depth = q.shape(3);
  a.shared = k.shape(1);
  a.length = k.shape(2);
  a.columns = v.shape(3);
  if (a.shared < 1 || a.heads % a.shared != 0 || window < 0) {
    throw py::value_error("cached_attention: k has " + std::to_string(a.shared) + " heads and q " +
                          std::to_string(a.heads) + ", with a window of " + std::to_string(window));
  }
  RequireShape(kOp, "k", k, {a.batch, a.shared, a.length, a.depth});
  RequireShape(kOp, "v", v, {a.batch, a.shared, a.length, a.columns});
  RequireShape(kOp, "before", before, {a.batch});
  RequireShape(kOp, "y", y, {a.batch, a.heads, a.steps, a.columns});
  a.q = ReadPointer(kOp, "q", q);
  a.k = ReadPointer(kOp, "k", k);
  a.v = ReadPointer(kOp, "v", v);
  a.before = ReadPointer(kOp, "before", before);
  a.end = ReadIfGiven(kOp, "end", end, {a.batch});
  if (bias) a.bias = BiasOf(a, *bias);
  a.sink = ReadIfGiven(kOp, "sink", sink, {a.heads});
  a.y = WritePointer(kOp, "y", y);
  a.scale = scale;
  a.causal = causal;
  a.window = window;
  a.cap = softcap;
  RequireShape(kOp, "panels", panels, {a.batch * a.shared * a.PanelFloats()});
  a.panels = WritePointer(kOp, "panels", panels);
  if (y.size() == 0) return {};
  return {[a] { AttendCache(a); }, py::make_tuple(q, k, v, before, end, bias, sink, y, panels)};
}

Launch BindRotaryEmbedding(const Floats& x, const Floats& cos, const Floats& sin, Floats& y,
                           bool interleaved) {
  constexpr const char* kOp = "rotary_embedding";
  if (x.ndim() != 4 || cos.ndim() != 3) {
    throw py::value_error("rotary_embedding: x has four axes, and cos three");
  }
  Rotation r{};
  r.batch = x.shape(0);
  r.heads = x.shape(1);
  r.steps = x.shape(2);
  r.size = x.shape(3);
  r.pairs = cos.shape(2);
  const Size batches = cos.shape(0) == 1 ? 1 : r.batch;
  RequireShape(kOp, "cos", cos, {batches, r.steps, r.pairs});
  RequireShape(kOp, "sin", sin, Shape(cos));
  RequireShape(kOp, "y", y, Shape(x));
  if (2 * r.pairs > r.size) throw py::value_error("rotary_embedding: cos has too many pairs for x");
  r.interleaved = interleaved;
  r.angles_step = batches == 1 ? 0 : r.steps * r.pairs;
  r.x = ReadPointer(kOp, "x", x);
  r.cos = ReadPointer(kOp, "cos", cos);
  r.sin = ReadPointer(kOp, "sin", sin);
  r.y = WritePointer(kOp, "y", y);
  if (y.size() == 0) return {};
  return {[r] { Rotate(r); }, py::make_tuple(x, cos, sin, y)};
}

}  // namespace

void RegisterCache(py::module_& m) {
  m.def("rotary_embedding", &BindRotaryEmbedding, py::arg("x"), py::arg("cos"), py::arg("sin"),
        py::arg("y"), py::arg("interleaved"));
  m.def("cache_write", &BindCacheWrite, py::arg("x"), py::arg("past"), py::arg("before"),
        py::arg("y"), py::arg("clears"));
  m.def("cached_attention", &BindCachedAttention, py::arg("q"), py::arg("k"), py::arg("v"),
        py::arg("before"), py::arg("end"), py::arg("bias"), py::arg("sink"), py::arg("y"),
        py::arg("panels"), py::arg("scale"), py::arg("causal"), py::arg("window"),
        py::arg("softcap"));
}

}  // namespace headrace::cpu::bind
