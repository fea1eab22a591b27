"""Elements that are put where indices say, into a copy of a tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from headrace.device import KernelEntry, OpCall
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.elementwise import Made
from headrace_cambricon.kernels.indices import (
    LINEAR,
    LINEAR_ENUMS,
    UPWARD,
    UPWARD_ENUMS,
    given,
    linear,
    linear_bytes,
    spread,
    upward,
    upward_bytes,
)
from headrace_cambricon.kernels.kernel import Operand, Recorder, WithWorkspace, between_bytes
from headrace_cambricon.kernels.match import NUMBERS, Takes
from headrace_cambricon.kernels.movement import bits

_MODES = {
    "none": "CNNL_SCATTER",
    "add": "CNNL_SCATTER_ADD",
    "max": "CNNL_SCATTER_MAX",
    "min": "CNNL_SCATTER_MIN",
}


class Scatter(WithWorkspace):
    """What both ops share: the copy, and how an update joins what is there."""

    def __init__(self, call: OpCall, mode: str) -> None:
        super().__init__(call)
        self._mode = mode

    def put(
        self, r: Recorder, axis: int, index: Operand, updates: tuple[int, ...], y: tuple[int, ...]
    ) -> None:
        """Copy x, then put the updates into it; both seen in the given shapes."""
        x = self.call.input(0)
        # Elements that are only moved are moved whatever they mean.
        dtype = bits(x.dtype) if self._mode == "CNNL_SCATTER" else x.dtype
        r.copy(r.outputs[0], r.input(0), x.nbytes)
        if self.call.input(2).elements:
            what, into = r.tensor(r.input(2), updates, dtype), r.tensor(r.outputs[0], y, dtype)
            vendor.scatter(r, self._mode, axis, index, what, into)


class ScatterElements(Scatter):
    """One update for each index along an axis."""

    def between_bytes(self) -> int:
        return upward_bytes(self.call.input(1).dtype.name, self.call.input(1).elements)

    def record(self, r: Recorder) -> None:
        x, shape = self.call.input(0), self.call.input(1).shape
        axis = self.call.int_attr("axis") % x.rank
        index = given(r, 1)
        if index.shape[0]:
            index = r.tensor(upward(r, index, x.shape[axis]).address, shape, "int32")
        self.put(r, axis, index, shape, x.shape)


class ScatterNd(Scatter):
    """A slice for each index of several axes."""

    def _shapes(self) -> tuple[tuple[int, ...], int, int]:
        """The indexed lengths, elements of a slice, and indices."""
        x, indices = self.call.input(0), self.call.input(1)
        depth = indices.shape[-1]
        return x.shape[:depth], math.prod(x.shape[depth:]), math.prod(indices.shape[:-1])

    def between_bytes(self) -> int:
        lengths, rest, count = self._shapes()
        rows = linear_bytes(self.call.input(1).dtype.name, count, len(lengths))
        return rows + between_bytes((1, count, rest), "int32")

    def record(self, r: Recorder) -> None:
        lengths, rest, count = self._shapes()
        updates, rows = (1, count, rest), (1, math.prod(lengths), rest)
        index = given(r, 1)
        if index.shape[0] and rest:
            index = spread(r, linear(r, 1, lengths, np.zeros(count, np.int32)), updates)
        self.put(r, 1, index, updates, rows)


def scatter_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels that replace elements of any dtype, and such that combine numbers."""
    for op, kind, needs, enums in (
        ("scatter_elements", ScatterElements, UPWARD, UPWARD_ENUMS),
        ("scatter_nd", ScatterNd, LINEAR, LINEAR_ENUMS),
    ):
        for reduction, mode in _MODES.items():
            match = Takes(
                () if reduction == "none" else NUMBERS,
                (*vendor.SCATTER, *needs),
                (*enums, mode),
                _reduces_by(reduction),
                f"reduction={reduction}",
            )
            yield KernelEntry(tag, op, Made(kind, (mode,)), match)


def _reduces_by(reduction: str) -> Callable[[OpCall], bool]:
    return lambda call: call.str_attr("reduction") == reduction
