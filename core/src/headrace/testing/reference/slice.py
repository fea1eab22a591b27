"""Parts of tensors and tensors from parts: the oracle, one element at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.tensor_spec import Array


def _slice(
    x: Array,
    *,
    starts: tuple[int, ...],
    ends: tuple[int, ...],
    axes: tuple[int, ...],
    steps: tuple[int, ...],
) -> Array:
    taken = [list(range(dim)) for dim in x.shape]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis = axes[number] if axes else number
        taken[axis] = taken[axis][start : end : steps[number] if steps else 1]
    y = np.empty([len(indices) for indices in taken], x.dtype)
    for target in np.ndindex(*y.shape):
        y[target] = x[tuple(taken[axis][at] for axis, at in enumerate(target))]
    return y


def _concat(*xs: Array, axis: int) -> Array:
    axis %= xs[0].ndim
    shape = list(xs[0].shape)
    shape[axis] = sum(x.shape[axis] for x in xs)
    y = np.empty(shape, xs[0].dtype)
    done = 0
    for x in xs:
        for source in np.ndindex(*x.shape):
            target = list(source)
            target[axis] += done
            y[tuple(target)] = x[source]
        done += x.shape[axis]
    return y


def _pad(x: Array, value: Array | None, *, pads: tuple[int, ...], mode: str) -> Array:
    before, after = pads[: x.ndim], pads[x.ndim :]
    shape = [b + dim + a for b, dim, a in zip(before, x.shape, after, strict=True)]
    y = np.empty(shape, x.dtype)
    filler = x.dtype.type(0) if value is None else value.reshape(-1)[0]
    for target in np.ndindex(*shape):
        source = [at - b for at, b in zip(target, before, strict=True)]
        if mode == "constant":
            inside = all(0 <= at < dim for at, dim in zip(source, x.shape, strict=True))
            y[target] = x[tuple(source)] if inside else filler
            continue
        for axis, dim in enumerate(x.shape):
            first, last = max(-before[axis], 0), dim - 1 + min(after[axis], 0)
            source[axis] = _walk_inside(source[axis], first, last, mode)
        y[target] = x[tuple(source)]
    return y


def _walk_inside(at: int, first: int, last: int, mode: str) -> int:
    """The index in first..last that ``at`` stands for."""
    while not first <= at <= last:
        border = first if at < first else last
        if mode == "edge" or first == last:
            at = border
        elif mode == "reflect":
            at = border - (at - border)
        else:
            at += (last - first + 1) * (1 if at < first else -1)
    return at


def _tile(x: Array, *, repeats: tuple[int, ...]) -> Array:
    y = np.empty([dim * count for dim, count in zip(x.shape, repeats, strict=True)], x.dtype)
    for target in np.ndindex(*y.shape):
        y[target] = x[tuple(at % dim for at, dim in zip(target, x.shape, strict=True))]
    return y


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "slice": _slice,
    "concat": _concat,
    "pad": _pad,
    "tile": _tile,
}
