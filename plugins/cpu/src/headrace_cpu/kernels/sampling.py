"""Images that are read at computed places, and columns put together: native calls."""

from __future__ import annotations

import math
from collections.abc import Iterator

from headrace.device import KernelEntry, Launch, OpCall, dtypes
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import FLOATS, SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views, native_window

MOST_AXES = 3
MOST_ALONG_AXIS = 1 << 22
"""Places are whole numbers of float32 with room to spare."""


class ReadPlaces(NativeKernel):
    """``grid_sample`` of float32. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        from headrace.ops.sampling import TAPS  # listing kernels imports no family of ops

        call, x, grid, y = self._call, views.input(), views.input(1), views.output()
        points = math.prod(grid.shape[1:-1])
        return native.grid_sample(
            x,
            grid.reshape(len(x), points, grid.shape[-1]),
            y.reshape(*y.shape[:2], points),
            taps=TAPS[call.str_attr("mode")],
            padding=call.str_attr("padding_mode"),
            is_aligned=call.flag_attr("align_corners"),
            is_normalized=call.flag_attr("normalized"),
        )


class AddColumns(NativeKernel):
    """``col2im``: x, y: float32 or float64. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        from headrace.ops.window import slide, window_of

        call = self._call
        window = window_of(call, call.ints_attr("kernel"))
        counts = slide(call, window, call.ints_attr("image"))
        images = zip(views.input(), views.output(), strict=True)
        moved = native_window(window)
        return native.Sequence([native.col2im(x, y, moved, counts) for x, y in images])


def _has_three_axes(call: OpCall) -> bool:
    return len(call.ints_attr("kernel")) <= MOST_AXES


def _has_few_axes(call: OpCall) -> bool:
    sizes = call.input(0).shape[2:]
    fits = max(sizes) <= MOST_ALONG_AXIS and math.prod(sizes) < 1 << 31
    return len(sizes) <= MOST_AXES and fits


def sampling_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    few = SomeCalls("three axes at most", dtypes("float32"), _has_few_axes)
    yield KernelEntry(tag, "grid_sample", ReadPlaces, few)
    three = SomeCalls("three axes at most", FLOATS, _has_three_axes)
    yield KernelEntry(tag, "col2im", AddColumns, three)
