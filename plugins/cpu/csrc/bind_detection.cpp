// Boxes that are chosen among many.
#include "bind_common.h"
#include "kernels/images/non_max_suppression.h"

namespace headrace::cpu::bind {
namespace {

Launch BindNonMaxSuppression(const Array<float>& boxes, const Array<float>& scores,
                             Array<std::int32_t>& chosen, Array<std::int32_t>& counts,
                             float overlap, float least, bool is_centred) {
  constexpr const char* kOp = "non_max_suppression";
  if (scores.ndim() != 3 || chosen.ndim() != 3) {
    throw py::value_error("non_max_suppression: scores and chosen must have 3 axes");
  }
  const NonMaxSuppression s{scores.shape(0), scores.shape(1), scores.shape(2), chosen.shape(2),
                            overlap,         least,           is_centred};
  RequireShape(kOp, "boxes", boxes, {s.batch, s.boxes, 4});
  RequireShape(kOp, "chosen", chosen, {s.batch, s.classes, s.most});
  RequireShape(kOp, "counts", counts, {s.batch, s.classes});
  if (s.most > s.boxes || s.boxes > kLimit) {
    throw py::value_error("non_max_suppression: " + std::to_string(s.most) + " of " +
                          std::to_string(s.boxes) + " boxes cannot be chosen");
  }
  const float* from = ReadPointer(kOp, "boxes", boxes);
  const float* by = ReadPointer(kOp, "scores", scores);
  std::int32_t* to = WritePointer(kOp, "chosen", chosen);
  std::int32_t* numbers = WritePointer(kOp, "counts", counts);
  return {[=] { Suppress(s, from, by, to, numbers); },
          py::make_tuple(boxes, scores, chosen, counts)};
}

}  // namespace

void RegisterDetection(py::module_& m) {
  m.def("non_max_suppression", &BindNonMaxSuppression, py::arg("boxes"), py::arg("scores"),
        py::arg("chosen"), py::arg("counts"), py::arg("overlap"), py::arg("least"),
        py::arg("is_centred"));
}

}  // namespace headrace::cpu::bind
