"""Axes folded into one element: the oracle, one list of elements for each element of the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.tensor_spec import Array
from headrace.testing.reference.scalars import number, store

Number = Any
"""A Python bool, int or float."""

Fold = Callable[[list[Number], Array], Number]
"""``f(elements, x)``: one element of the result."""


def _reduction(fold: Fold) -> Callable[..., Array]:
    def run(x: Array, *, axes: tuple[int, ...], keep_dims: bool) -> Array:
        gone = [axis % x.ndim for axis in axes] or list(range(x.ndim))
        return _folded(fold, x, gone, keep_dims, x.dtype)

    return run


def _position(beats: Callable[[Number, Number], bool]) -> Callable[..., Array]:
    """``argmax`` or ``argmin``; ``beats(new, best)`` says that ``new`` is more extreme."""

    def run(x: Array, *, axis: int, keep_dims: bool, select_last_index: bool) -> Array:
        def find(elements: list[Number], _: Array) -> int:
            best = 0
            for index, element in enumerate(elements):
                held = elements[best]
                if _is_nan(held):
                    better = _is_nan(element) and select_last_index
                elif _is_nan(element) or beats(element, held):
                    better = True
                else:
                    better = element == held and select_last_index
                best = index if better else best
            return best

        return _folded(find, x, [axis % x.ndim], keep_dims, np.dtype(np.int64))

    return run


def _folded(fold: Fold, x: Array, gone: list[int], keep_dims: bool, dtype: np.dtype[Any]) -> Array:
    kept = [1 if axis in gone else dim for axis, dim in enumerate(x.shape)]
    groups: dict[tuple[int, ...], list[Number]] = {at: [] for at in np.ndindex(*kept)}
    for at in np.ndindex(*x.shape):
        target = tuple(0 if axis in gone else place for axis, place in enumerate(at))
        groups[target].append(number(x[at]))
    y = np.empty(kept, dtype)
    for target, elements in groups.items():
        store(y, target, fold(elements, x))
    return y if keep_dims else y.reshape([n for axis, n in enumerate(kept) if axis not in gone])


def _is_int(x: Array) -> bool:
    return x.dtype.kind in "iu"


def _is_nan(value: Number) -> bool:
    return bool(value != value)


def _sum(elements: list[Number], x: Array) -> Number:
    return sum(elements)


def _mean(elements: list[Number], x: Array) -> Number:
    if not _is_int(x):
        return sum(elements) / len(elements) if elements else math.nan
    if not elements:
        return 0
    total = sum(elements)
    size = abs(total) // len(elements)
    return size if total >= 0 else -size


def _greatest(elements: list[Number], x: Array) -> Number:
    if any(map(_is_nan, elements)):
        return math.nan
    return max(elements, default=_limits(x)[0])


def _least(elements: list[Number], x: Array) -> Number:
    if any(map(_is_nan, elements)):
        return math.nan
    return min(elements, default=_limits(x)[1])


def _limits(x: Array) -> tuple[Number, Number]:
    if x.dtype.kind == "b":
        return False, True
    if _is_int(x):
        return int(np.iinfo(x.dtype).min), int(np.iinfo(x.dtype).max)
    return -math.inf, math.inf


def _product(elements: list[Number], x: Array) -> Number:
    return math.prod(elements)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "reduce_sum": _reduction(_sum),
    "reduce_mean": _reduction(_mean),
    "reduce_max": _reduction(_greatest),
    "reduce_min": _reduction(_least),
    "reduce_prod": _reduction(_product),
    "argmax": _position(lambda new, best: bool(new > best)),
    "argmin": _position(lambda new, best: bool(new < best)),
}
