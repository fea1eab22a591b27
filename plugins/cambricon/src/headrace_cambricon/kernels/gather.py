"""Elements that are found by their indices. The library gathers one for each index it is given."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from headrace.device import KernelEntry
from headrace_cambricon.kernels import vendor
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
from headrace_cambricon.kernels.kernel import Recorder, WithWorkspace, between_bytes
from headrace_cambricon.kernels.match import Takes
from headrace_cambricon.kernels.movement import collapsed, made, moved


class Gather(WithWorkspace):
    """Whole slices of ``x`` along an axis: the indices are repeated along the others."""

    def _shapes(self) -> tuple[tuple[int, int, int], int]:
        x, axis = self.call.input(0), self.call.int_attr("axis") % self.call.input(0).rank
        return collapsed(x.shape, axis), self.call.input(1).elements

    def between_bytes(self) -> int:
        (before, _, after), count = self._shapes()
        wide = between_bytes((before, count, after), "int32")
        return upward_bytes(self.call.input(1).dtype.name, count) + wide

    def record(self, r: Recorder) -> None:
        (before, length, after), count = self._shapes()
        index = spread(r, upward(r, given(r, 1), length), (before, count, after))
        x, y = moved(r, 0, (before, length, after)), made(r, (before, count, after))
        vendor.gather(r, 1, x, index, y)


class GatherElements(WithWorkspace):
    """One element for each index."""

    def between_bytes(self) -> int:
        return upward_bytes(self.call.input(1).dtype.name, self.call.input(1).elements)

    def record(self, r: Recorder) -> None:
        axis = self.call.int_attr("axis") % self.call.input(0).rank
        index = upward(r, given(r, 1), self.call.input(0).shape[axis])
        shaped = r.tensor(index.address, self.call.input(1).shape, "int32")
        vendor.gather(r, axis, moved(r, 0), shaped, made(r))


class GatherNd(WithWorkspace):
    """Slices of ``x`` found by an index for each of several axes, within their batch."""

    def _shapes(self) -> tuple[int, tuple[int, ...], int, int]:
        """How many batches, the indexed lengths, elements of a slice, and indices."""
        x, indices = self.call.input(0), self.call.input(1)
        batch, depth = self.call.int_attr("batch_dims"), indices.shape[-1]
        lengths = x.shape[batch : batch + depth]
        rest = math.prod(x.shape[batch + depth :])
        return math.prod(x.shape[:batch]), lengths, rest, math.prod(indices.shape[:-1])

    def between_bytes(self) -> int:
        _, lengths, rest, count = self._shapes()
        rows = linear_bytes(self.call.input(1).dtype.name, count, len(lengths))
        return rows + between_bytes((1, count, rest), "int32")

    def record(self, r: Recorder) -> None:
        batches, lengths, rest, count = self._shapes()
        of_batch = math.prod(lengths)
        first = np.repeat(np.arange(batches, dtype=np.int32) * of_batch, count // batches)
        index = spread(r, linear(r, 1, lengths, first), (1, count, rest))
        x, y = moved(r, 0, (1, batches * of_batch, rest)), made(r, (1, count, rest))
        vendor.gather(r, 1, x, index, y)


def gather_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for elements of any dtype."""
    for op, kind, functions, enums in (
        ("gather", Gather, UPWARD, UPWARD_ENUMS),
        ("gather_elements", GatherElements, UPWARD, UPWARD_ENUMS),
        ("gather_nd", GatherNd, LINEAR, LINEAR_ENUMS),
    ):
        yield KernelEntry(tag, op, kind, Takes((), (*vendor.GATHER, *functions), enums))
