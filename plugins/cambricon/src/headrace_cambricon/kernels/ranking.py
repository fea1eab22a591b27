"""The best elements along an axis."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.device import KernelEntry
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.kernel import Recorder, WithWorkspace, between_bytes
from headrace_cambricon.kernels.match import COMPARED, Takes


class TopK(WithWorkspace):
    """Values and their indices, which the library says in 32 bits."""

    def between_bytes(self) -> int:
        return between_bytes(self.call.outputs[0].shape, "int32")

    def record(self, r: Recorder) -> None:
        axis = self.call.int_attr("axis") % self.call.input(0).rank
        index = r.between(self.call.outputs[0].shape, "int32")
        largest = self.call.flag_attr("largest")
        vendor.top_k(r, self.call.int_attr("k"), axis, largest, r.x(0), r.y(), index)
        if len(r.outputs) > 1:
            vendor.cast(r, index, r.y(1))


def ranking_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernel for ``top_k``."""
    dtypes = tuple(name for name in COMPARED if name != "bfloat16")
    needs = (*vendor.TOP_K, "cnnlCastDataType")
    yield KernelEntry(tag, "top_k", TopK, Takes(dtypes, needs, ("CNNL_CAST_INT32_TO_INT64",)))
