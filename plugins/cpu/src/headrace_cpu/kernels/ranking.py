"""The order of elements along an axis: the best of them, and where the extreme stands."""

from __future__ import annotations

import math
from collections.abc import Iterator

from headrace.device import KernelEntry, Launch, dtypes
from headrace.tensor_spec import Array
from headrace_cpu.extension import native
from headrace_cpu.kernels.native import NativeKernel, Views


class TakeBest(NativeKernel):
    """``top_k``. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        call = self._call
        axis = call.int_attr("axis") % call.input(0).rank
        x, values, indices = (
            _lines(array, axis) for array in (views.input(), views.output(), views.output(1))
        )
        return native.top_k(x, values, indices, largest=call.flag_attr("largest"))


class FindExtreme(NativeKernel):
    """``argmax`` or ``argmin``. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        call = self._call
        x = _lines(views.input(), call.int_attr("axis") % call.input(0).rank)
        return native.arg_extreme(
            x,
            views.output().reshape(x.shape[0], x.shape[2]),
            largest=call.op == "argmax",
            last=call.flag_attr("select_last_index"),
        )


def _lines(x: Array, axis: int) -> Array:
    """x with one axis before ``axis``, and one after it."""
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    return x.reshape(outer, x.shape[axis], inner)


def ranking_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    numbers = dtypes("float32", "float64", "int8", "uint8", "int32", "int64")
    yield KernelEntry(tag, "top_k", TakeBest, numbers)
    for op in ("argmax", "argmin"):
        yield KernelEntry(tag, op, FindExtreme, numbers)
