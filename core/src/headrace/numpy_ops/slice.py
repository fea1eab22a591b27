"""Parts of tensors and tensors from parts, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.ops.axes import pad_amounts, slice_index
from headrace.tensor_spec import Array


def part(call: OpCall, x: Array) -> Array:
    """The view of ``x`` that a ``slice`` makes a copy of."""
    return x[slice_index(call)]


def _slice(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    outputs[0][...] = part(call, given(inputs, 0))


def _concat(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    arrays = [given(inputs, index) for index in range(len(inputs))]
    np.concatenate(arrays, axis=call.int_attr("axis"), out=outputs[0])


def _pad(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, value, out = given(inputs, 0), inputs[1] if len(inputs) > 1 else None, outputs[0]
    amounts = pad_amounts(call)
    source, target = [], []  # the part of x that stays, and where it goes
    for dim, size, (before, after) in zip(x.shape, out.shape, amounts, strict=True):
        low, high = max(-before, 0), min(dim, dim + after)
        count = max(high - low, 0)
        source.append(slice(low, low + count))
        target.append(slice(min(max(before, 0), size), min(max(before, 0), size) + count))
    mode = call.str_attr("mode")
    if mode == "constant":
        out[...] = 0 if value is None else value.reshape(())
    out[tuple(target)] = x[tuple(source)]
    if mode != "constant":
        _pad_from_inside(out, target, mode)


def _pad_from_inside(out: Array, inside: Sequence[slice], mode: str) -> None:
    """Fill everything around ``out[inside]`` from it, one axis after another.

    Earlier axes are complete when an axis is filled, later ones are still only known inside: so
    corners come out right and only the borders are touched.
    """
    index: list[Any] = list(inside)
    for axis, (size, kept) in enumerate(zip(out.shape, inside, strict=True)):
        index[axis] = slice(None)
        positions = np.arange(size) - kept.start
        count = kept.stop - kept.start
        outside = np.flatnonzero((positions < 0) | (positions >= count))
        if outside.size == 0:
            continue
        wanted = kept.start + _MIRRORS[mode](positions[outside], count)
        there, here = index.copy(), index.copy()
        there[axis], here[axis] = outside, wanted
        out[tuple(there)] = out[tuple(here)]


def _edge(positions: Array, count: int) -> Array:
    return np.clip(positions, 0, count - 1)


def _reflect(positions: Array, count: int) -> Array:
    period = max(2 * (count - 1), 1)
    folded = positions % period
    return np.minimum(folded, period - folded) if count > 1 else folded


def _wrap(positions: Array, count: int) -> Array:
    return positions % count


_MIRRORS = {"edge": _edge, "reflect": _reflect, "wrap": _wrap}


def _tile(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, repeats = given(inputs, 0), call.ints_attr("repeats")
    # Each axis becomes two, (repeat, dim), which row-major order joins again: one broadcast copy.
    split = [size for pair in zip(repeats, x.shape, strict=True) for size in pair]
    single = [size for dim in x.shape for size in (1, dim)]
    outputs[0].reshape(split)[...] = x.reshape(single)


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "slice": _slice,
    "concat": _concat,
    "pad": _pad,
    "tile": _tile,
}
