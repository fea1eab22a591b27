"""Reductions over axes that lie together: before others, as over space, and of any numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from headrace.device import KernelEntry, Launch, OpCall, dtypes
from headrace.ops.axes import folded_axes
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import FLOATS, SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views

KINDS = {"reduce_sum": "sum", "reduce_mean": "mean", "reduce_max": "max"}
OTHER_KINDS = {"reduce_min": "min", "reduce_prod": "prod"}
NUMBERS = ("float32", "float64", "int32", "int64", "int8", "uint8")


def _sides(call: OpCall) -> tuple[int, int, int] | None:
    """The input as [outer, folded, columns]; None when other axes lie between the folded ones."""
    shape, folded = call.input(0).shape, folded_axes(call)
    long = [axis for axis in sorted(folded) if shape[axis] != 1]
    if not long:
        return math.prod(shape), 1, 1
    first, last = long[0], long[-1]
    between = (axis for axis in range(first, last) if axis not in folded)
    if any(shape[axis] != 1 for axis in between):
        return None
    rows = math.prod(shape[axis] for axis in long)
    return math.prod(shape[:first]), rows, math.prod(shape[last + 1 :])


def _folds_rows(call: OpCall) -> bool:
    sides = _sides(call)
    return sides is not None and sides[1] > 0 and sides[2] > 1


rows = SomeCalls("rows of some numbers", dtypes("float32"), _folds_rows)


class FoldRows(NativeKernel):
    """A reduction over axes that lie together: x: float32[...], y: without them. No workspace."""

    def _make(self, views: Views) -> Launch:
        call, sides = self._call, _sides(self._call)
        assert sides is not None
        x, y = views.input(), views.output()
        return native.fold_rows(KINDS[call.op], x.reshape(sides), y.reshape(sides[0], sides[2]))


class FoldAxis(NativeKernel):
    """A reduction over axes that lie together: x: T[...], y: without them. No workspace."""

    def _make(self, views: Views) -> Launch:
        call, sides = self._call, _sides(self._call)
        assert sides is not None
        x, y = views.input(), views.output()
        kind = (KINDS | OTHER_KINDS)[call.op]
        return native.fold_axis(kind, x.reshape(sides), y.reshape(sides[0], sides[2]))


def _folds_axis(call: OpCall) -> bool:
    sides = _sides(call)
    return sides is not None and sides[1] > 0


def reduce_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    for op in KINDS:
        # As good as one for the last axes: a tensor is not turned to be folded there.
        yield KernelEntry(tag, op, FoldRows, rows, priority=1)
    floats = SomeCalls("axes that lie together", FLOATS, _folds_axis)
    numbers = SomeCalls("axes that lie together", dtypes(*NUMBERS), _folds_axis)
    for op in KINDS | OTHER_KINDS:
        yield KernelEntry(tag, op, FoldAxis, floats if op == "reduce_mean" else numbers)
