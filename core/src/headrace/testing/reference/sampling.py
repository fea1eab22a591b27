"""Images read at computed places, and columns put together: the oracle, element by element."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.tensor_spec import Array


def _grid_sample(
    x: Array, grid: Array, *, mode: str, padding_mode: str, align_corners: bool, normalized: bool
) -> Array:
    axes = x.ndim - 2
    y = np.zeros((*x.shape[:2], *grid.shape[1:-1]), np.float64)
    numbers = grid.astype(np.float64)
    for target in np.ndindex(*y.shape):
        reads = []
        for axis in range(axes):
            unit = numbers[(target[0], *target[2:], axes - 1 - axis)].item()
            unit = -1.0 if math.isnan(unit) else min(max(unit, -(2.0**30)), 2.0**30)
            size = x.shape[2 + axis]
            ends = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
            place = ends[0] + (unit + 1) / 2 * (ends[1] - ends[0]) if normalized else unit
            reads.append(_reads(place, size, ends, mode, padding_mode))
        for choice in itertools.product(*reads):
            at = tuple(index for index, _ in choice)
            if None not in at:
                weight = math.prod(weight for _, weight in choice)
                y[target] += weight * float(x[(*target[:2], *at)])
    return y.astype(x.dtype)


def _reads(
    place: float, size: int, ends: tuple[float, float], mode: str, padding: str
) -> list[tuple[int | None, float]]:
    """Elements along an axis, None for one outside that counts as 0, and their weights."""
    if mode != "cubic":
        place = _moved(place, size, ends, padding)
    if mode == "nearest":
        return [(_inside(round(place), size), 1.0)]
    reach = 1 if mode == "linear" else 2
    near = range(math.floor(place) - reach + 1, math.floor(place) + reach + 1)
    if mode == "linear":
        return [(_inside(at, size), 1 - abs(place - at)) for at in near]
    moved = [_moved(at, size, ends, padding) for at in near]
    return [
        (_inside(int(to), size), _keys(abs(place - at))) for at, to in zip(near, moved, strict=True)
    ]


def _moved(place: float, size: int, ends: tuple[float, float], padding: str) -> float:
    """A place in the image, turned at its ends as often as it takes, or held at its outer ones."""
    low, high = ends
    if padding == "reflection":
        while low < high and not low <= place <= high:
            place = 2 * low - place if place < low else 2 * high - place
    return place if padding == "zeros" else min(max(place, 0.0), size - 1.0)


def _inside(at: int, size: int) -> int | None:
    return at if 0 <= at < size else None


def _keys(distance: float) -> float:
    a = -0.75
    if distance <= 1:
        return (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    return a * distance**3 - 5 * a * distance**2 + 8 * a * distance - 4 * a


def _col2im(
    x: Array,
    *,
    kernel: tuple[int, ...],
    image: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
) -> Array:
    rank = len(kernel)
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    pads, taps = pads or (0,) * 2 * rank, math.prod(kernel)
    counts = [
        (image[i] + pads[i] + pads[rank + i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1
        for i in range(rank)
    ]
    y = np.zeros((len(x), x.shape[1] // taps, *image), np.float64)
    for batch, row, column in np.ndindex(*x.shape):
        tap, window = np.unravel_index(row % taps, kernel), np.unravel_index(column, counts)
        at = [int(window[i] * strides[i] + tap[i] * dilations[i] - pads[i]) for i in range(rank)]
        if all(0 <= place < size for place, size in zip(at, image, strict=True)):
            y[(batch, row // taps, *at)] += float(x[batch, row, column])
    return y.astype(x.dtype)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"grid_sample": _grid_sample, "col2im": _col2im}
