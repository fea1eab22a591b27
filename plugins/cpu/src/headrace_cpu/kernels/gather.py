"""Elements chosen by indices, and put there; native calls, which fail at an index outside."""

from __future__ import annotations

import math
from collections.abc import Iterator

from headrace.device import KernelEntry, Launch, OpCall, any_call, dtypes
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views

COMBINED = ("float32", "float64", "int32", "int64")
"""Dtypes in which updates are added, multiplied and compared natively."""


class GatherSlices(NativeKernel):
    """``gather``. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        x, indices, y = views.input(), views.input(1), views.output()
        return native.gather(x, indices, y, self._call.int_attr("axis") % x.ndim)


class GatherElements(NativeKernel):
    """``gather_elements``. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        x, indices, y = views.input(), views.input(1), views.output()
        return native.gather_elements(x, indices, y, self._call.int_attr("axis") % x.ndim)


class GatherNd(NativeKernel):
    """``gather_nd``. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        batch_dims = self._call.int_attr("batch_dims")
        return native.gather_nd(views.input(), views.input(1), views.output(), batch_dims)


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


class PutElements(NativeKernel):
    """``scatter_elements``; y may be x. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        x, indices, updates, y = views.input(), views.input(1), views.input(2), views.output()
        reduction, axis = self._call.str_attr("reduction"), self._call.int_attr("axis") % x.ndim
        return native.scatter_elements(reduction, x, indices, updates, y, axis)


class MarkPlaces(NativeKernel):
    """``one_hot``. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        indices, values, y = views.input(), views.input(1), views.output()
        axis = self._call.int_attr("axis") % y.ndim
        outer, inner = math.prod(y.shape[:axis]), math.prod(y.shape[axis + 1 :])
        made = y.reshape(outer, y.shape[axis], inner)
        return native.one_hot(indices.reshape(outer, inner), values, made)


def _is_put(call: OpCall) -> bool:
    return call.str_attr("reduction") == "none" or call.input(0).dtype.name in COMBINED


def gather_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    yield KernelEntry(tag, "gather", GatherSlices, any_call)
    yield KernelEntry(tag, "gather_elements", GatherElements, any_call)
    yield KernelEntry(tag, "gather_nd", GatherNd, any_call)
    put = SomeCalls("updates that replace or are combined", any_call, _is_put)
    yield KernelEntry(tag, "scatter_elements", PutElements, put)
    yield KernelEntry(tag, "scatter_nd", PutRows, put)
    yield KernelEntry(tag, "one_hot", MarkPlaces, dtypes("int32", "int64"))
