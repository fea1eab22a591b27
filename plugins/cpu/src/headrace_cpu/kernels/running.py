"""Running sums and products: one native call."""

from __future__ import annotations

import math
from collections.abc import Iterator

from headrace.device import KernelEntry, Launch, dtypes
from headrace_cpu.extension import native
from headrace_cpu.kernels.native import NativeKernel, Views


class Cumulate(NativeKernel):
    """``cumulative``. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        call, x = self._call, views.input()
        axis = call.int_attr("axis") % x.ndim
        lines = (math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :]))
        return native.cumulative(
            call.str_attr("reduction"),
            x.reshape(lines),
            views.output().reshape(lines),
            is_exclusive=call.flag_attr("exclusive"),
            is_reverse=call.flag_attr("reverse"),
        )


def running_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernel of this module."""
    yield KernelEntry(tag, "cumulative", Cumulate, dtypes("float32", "float64", "int32", "int64"))
