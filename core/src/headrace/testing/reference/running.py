"""Running sums and products: the oracle, one element after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.tensor_spec import Array


def _cumulative(x: Array, *, axis: int, reduction: str, exclusive: bool, reverse: bool) -> Array:
    is_whole = x.dtype.kind in "iu"
    numbers = x if is_whole else x.astype(np.float64)
    moved = np.moveaxis(numbers, axis, 0)
    y = np.empty_like(moved)
    total = np.full(moved.shape[1:], 0 if reduction == "sum" else 1, numbers.dtype)
    places = range(len(moved))
    with np.errstate(over="ignore"):
        for at in reversed(places) if reverse else places:
            following = total + moved[at] if reduction == "sum" else total * moved[at]
            y[at] = total if exclusive else following
            total = following
    return np.ascontiguousarray(np.moveaxis(y, 0, axis).astype(x.dtype))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"cumulative": _cumulative}
