"""Boxes that are chosen among many: one native call for all classes."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.device import KernelEntry, Launch, any_call
from headrace_cpu.extension import native
from headrace_cpu.kernels.native import NativeKernel, Views


class ChooseBoxes(NativeKernel):
    """``non_max_suppression``. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        call = self._call
        return native.non_max_suppression(
            views.input(),
            views.input(1),
            views.output(),
            views.output(1),
            overlap=call.float_attr("iou_threshold"),
            least=call.float_attr("score_threshold"),
            is_centred=call.flag_attr("center_point_box"),
        )


def detection_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernel of this module."""
    yield KernelEntry(tag, "non_max_suppression", ChooseBoxes, any_call)
