"""Ops that move elements and change none, each one native call, for any dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from headrace.device import KernelEntry, Launch, OpCall
from headrace.ops.axes import pad_amounts, permutation, slice_ranges
from headrace_cpu.extension import native
from headrace_cpu.kernels.native import NativeKernel, Views

Dims = tuple[int, ...]

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = NDArray[np.int32]
    """Where each element of an axis comes from; -1 for the filling."""


class Part(NamedTuple):
    """What is copied of one input: its shape, and where it lies on both sides, in elements."""

    shape: Dims
    from_offset: int
    from_strides: Dims
    to_offset: int
    to_strides: Dims


def strides_of(shape: Dims) -> Dims:
    """Elements from one index of each axis to the next, in row-major order."""
    from_last = accumulate(shape[:0:-1], mul, initial=1)
    return tuple(from_last)[::-1] if shape else ()


class Copy(NativeKernel):
    """An op that copies parts of its inputs. Needs no workspace."""

    def __init__(self, call: OpCall, parts: Callable[[OpCall], Sequence[Part]]) -> None:
        super().__init__(call)
        self._parts = parts

    def _make(self, views: Views) -> Launch:
        call = self._call
        parts = self._parts(call)
        pairs = [(views.input(index), *part) for index, part in enumerate(parts)]
        return native.copy(pairs, views.output())


def _transposed(call: OpCall) -> Sequence[Part]:
    have, made = strides_of(call.input(0).shape), call.outputs[0].shape
    turned = tuple(have[axis] for axis in permutation(call))
    return [Part(made, 0, turned, 0, strides_of(made))]


def _sliced(call: OpCall) -> Sequence[Part]:
    ranges, have = slice_ranges(call), strides_of(call.input(0).shape)
    made = call.outputs[0].shape
    first = sum(kept.start * stride for kept, stride in zip(ranges, have, strict=True))
    steps = tuple(kept.step * stride for kept, stride in zip(ranges, have, strict=True))
    return [Part(made, first, steps, 0, strides_of(made))]


def _joined(call: OpCall) -> Sequence[Part]:
    return list(_pieces(call))


def _pieces(call: OpCall) -> Iterator[Part]:
    strides = strides_of(call.outputs[0].shape)
    axis, begin = call.int_attr("axis") % len(strides), 0
    for index in range(len(call.inputs)):
        shape = call.input(index).shape
        yield Part(shape, 0, strides_of(shape), begin * strides[axis], strides)
        begin += shape[axis]


def _expanded(call: OpCall) -> Sequence[Part]:
    x, made = call.input(0).shape, call.outputs[0].shape
    own = zip(x, strides_of(x), strict=True)
    strides = tuple(0 if count == 1 else stride for count, stride in own)
    return [Part(made, 0, (0,) * (len(made) - len(x)) + strides, 0, strides_of(made))]


def _tiled(call: OpCall) -> Sequence[Part]:
    """Each axis is two of what is copied: how often, and along x."""
    x, made = call.input(0).shape, call.outputs[0].shape
    shape = [n for dim, size in zip(x, made, strict=True) for n in (size // dim if dim else 0, dim)]
    own = [n for stride in strides_of(x) for n in (0, stride)]
    return [Part(tuple(shape), 0, tuple(own), 0, strides_of(tuple(shape)))]


def _whole(call: OpCall) -> Sequence[Part]:
    elements = call.input(0).elements
    return [Part((elements,), 0, (1,), 0, (1,))]


class Fill(NativeKernel):
    """``fill``: y: T[...]. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        y = views.output()
        value = np.full(1, self._call.float_attr("value"), y.dtype)
        return native.copy([(value, (y.size,), 0, (0,), 0, (1,))], y)


class Take(NativeKernel):
    """An op that reads, on each axis, the positions of a table. Needs no workspace."""

    def __init__(self, call: OpCall, tables: Callable[[OpCall], Sequence[Table | None]]) -> None:
        super().__init__(call)
        self._tables = tables

    def _make(self, views: Views) -> Launch:
        call = self._call
        x, y = views.input(), views.output()
        return native.take(x, y, self._tables(call), views.optional(1))


def _padded(call: OpCall) -> Sequence[Table | None]:
    """By axis; None for one that is not padded."""
    tables: list[Table | None] = []
    mode, made = call.str_attr("mode"), call.outputs[0].shape
    for count, size, (before, after) in zip(
        call.input(0).shape, made, pad_amounts(call), strict=True
    ):
        if (before, after) == (0, 0):
            tables.append(None)
            continue
        tables.append(_padded_axis(count, before, after, mode)[:size])
    return tables


@lru_cache(maxsize=64)  # the layers of a net are padded alike
def _padded_axis(count: int, before: int, after: int, mode: str) -> Table:
    kept = np.arange(max(-before, 0), min(count, count + after), dtype=np.int32)
    first, behind = max(before, 0), max(after, 0)
    if mode == "constant" or not kept.size:
        table = np.full(first + kept.size + behind, -1, np.int32)
        table[first : first + kept.size] = kept
    else:
        table = np.pad(kept, (first, behind), mode=mode)  # type: ignore[call-overload]
    table.setflags(write=False)
    return table


def copy_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    yield KernelEntry(tag, "transpose", partial(Copy, parts=_transposed))
    yield KernelEntry(tag, "slice", partial(Copy, parts=_sliced))
    yield KernelEntry(tag, "concat", partial(Copy, parts=_joined))
    yield KernelEntry(tag, "expand", partial(Copy, parts=_expanded))
    yield KernelEntry(tag, "pad", partial(Take, tables=_padded))
    yield KernelEntry(tag, "tile", partial(Copy, parts=_tiled))
    for op in ("identity", "reshape"):
        yield KernelEntry(tag, op, partial(Copy, parts=_whole))
    yield KernelEntry(tag, "fill", Fill)
