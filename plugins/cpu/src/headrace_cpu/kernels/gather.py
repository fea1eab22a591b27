"""Elements chosen by indices, and put there; native calls, which fail at an index outside."""

from __future__ import annotations

import math
from collections.abc import Iterator

from headrace.device import KernelEntry, Launch, OpCall, any_call
from headrace.tensor_spec import Array
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views

ADDED = ("float32", "float64", "int32", "int64")
"""Dtypes in which updates are added natively."""


class GatherSlices(NativeKernel):
    """``gather``. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        x, indices, y = views.input(), views.input(1), views.output()
        axis = self._call.int_attr("axis") % x.ndim
        outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
        return native.gather(
            x.reshape(outer, x.shape[axis], inner),
            indices.reshape(-1),
            y.reshape(outer, indices.size, inner),
        )


class GatherElements(NativeKernel):
    """``gather_elements`` whose indices are as long as x but for the axis. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        axis = self._call.int_attr("axis") % views.input().ndim
        x, indices, y = (_sides(a, axis) for a in (views.input(), views.input(1), views.output()))
        return native.gather_elements(x, indices, y)


class GatherNd(NativeKernel):
    """``gather_nd``. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        x, indices, y = views.input(), views.input(1), views.output()
        batch, depth = self._call.int_attr("batch_dims"), indices.shape[-1]
        outer, inner = math.prod(x.shape[:batch]), math.prod(x.shape[batch + depth :])
        count = math.prod(indices.shape[batch:-1])
        return native.gather_nd(
            x.reshape(outer, *x.shape[batch : batch + depth], inner),
            indices.reshape(outer, count, depth),
            y.reshape(outer, count, inner),
        )


class PutRows(NativeKernel):
    """``scatter_nd``; y may be x. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        x, indices, updates, y = views.input(), views.input(1), views.input(2), views.output()
        depth = indices.shape[-1]
        rows = (*x.shape[:depth], math.prod(x.shape[depth:]))
        count = math.prod(indices.shape[:-1])
        return native.scatter_nd(
            self._call.str_attr("reduction"),
            x.reshape(rows),
            indices.reshape(count, depth),
            updates.reshape(count, rows[-1]),
            y.reshape(rows),
        )


def _is_put(call: OpCall) -> bool:
    reduction, dtype = call.str_attr("reduction"), call.input(0).dtype
    return reduction == "none" or (reduction == "add" and dtype.name in ADDED)


def _sides(x: Array, axis: int) -> Array:
    """x with one axis before ``axis``, and one after it."""
    inner = math.prod(x.shape[axis + 1 :])
    return x.reshape(math.prod(x.shape[:axis]), x.shape[axis], inner)


def _is_as_long(call: OpCall) -> bool:
    x, indices = call.input(0), call.input(1)
    axis = call.int_attr("axis") % x.rank
    return all(
        at == axis or have == taken
        for at, (have, taken) in enumerate(zip(x.shape, indices.shape, strict=True))
    )


def gather_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    yield KernelEntry(tag, "gather", GatherSlices, any_call)
    as_long = SomeCalls("indices as long as x", any_call, _is_as_long)
    yield KernelEntry(tag, "gather_nd", GatherNd, any_call)
    put = SomeCalls("rows that replace or are added", any_call, _is_put)
    yield KernelEntry(tag, "scatter_nd", PutRows, put)
    yield KernelEntry(tag, "gather_elements", GatherElements, as_long)
