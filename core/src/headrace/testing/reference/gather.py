"""Elements chosen by index tensors, or by their order: the oracle, one element at a time."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headrace.tensor_spec import Array


def _gather(x: Array, indices: Array, *, axis: int) -> Array:
    axis %= x.ndim
    y = np.empty(x.shape[:axis] + indices.shape + x.shape[axis + 1 :], x.dtype)
    for target in np.ndindex(*y.shape):
        chosen = int(indices[target[axis : axis + indices.ndim]])
        y[target] = x[(*target[:axis], chosen, *target[axis + indices.ndim :])]
    return y


def _gather_elements(x: Array, indices: Array, *, axis: int) -> Array:
    y = np.empty(indices.shape, x.dtype)
    for target in np.ndindex(*indices.shape):
        source = list(target)
        source[axis] = int(indices[target])
        y[target] = x[tuple(source)]
    return y


def _gather_nd(x: Array, indices: Array, *, batch_dims: int) -> Array:
    depth = indices.shape[-1]
    y = np.empty(indices.shape[:-1] + x.shape[batch_dims + depth :], x.dtype)
    for at in np.ndindex(*indices.shape[:-1]):
        chosen = tuple(int(index) for index in indices[at])
        y[at] = x[(*at[:batch_dims], *chosen)]
    return y


def _scatter_elements(
    x: Array, indices: Array, updates: Array, *, axis: int, reduction: str
) -> Array:
    y = _wide(x, reduction)
    for source in np.ndindex(*indices.shape):
        target = list(source)
        target[axis] = int(indices[source])
        _put(y, tuple(target), updates[source], reduction)
    return _narrow(y, x.dtype)


def _scatter_nd(x: Array, indices: Array, updates: Array, *, reduction: str) -> Array:
    y = _wide(x, reduction)
    for at in np.ndindex(*indices.shape[:-1]):
        chosen = tuple(int(index) for index in indices[at])
        for rest in np.ndindex(*x.shape[len(chosen) :]):
            _put(y, chosen + rest, updates[at + rest], reduction)
    return _narrow(y, x.dtype)


def _wide(x: Array, reduction: str) -> Array:
    """A copy in which reductions neither round nor wrap: float64, or Python integers."""
    if reduction == "none":
        return x.copy()
    return x.astype(object if x.dtype.kind in "biu" else np.float64)


def _narrow(y: Array, dtype: np.dtype[Any]) -> Array:
    if y.dtype == object and dtype.kind in "iu":
        low, span = int(np.iinfo(dtype).min), 1 << 8 * dtype.itemsize
        y = np.array([(int(v) - low) % span + low for v in y.reshape(-1)], dtype).reshape(y.shape)
    return y.astype(dtype)


def _put(y: Array, at: tuple[int, ...], update: Any, reduction: str) -> None:
    if reduction == "none":
        y[at] = update
        return
    have, new = y[at], update.item()
    if reduction == "add":
        y[at] = have + new
    elif reduction == "mul":
        y[at] = have * new
    elif have == have:  # a NaN stays
        y[at] = have if (have <= new if reduction == "min" else have >= new) else new


def _top_k(x: Array, *, k: int, axis: int, largest: bool) -> tuple[Array, Array]:
    axis %= x.ndim
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    values, indices = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    for before in np.ndindex(*shape[:axis]):
        for after in np.ndindex(*shape[axis + 1 :]):
            line = [x[(*before, at, *after)].item() for at in range(x.shape[axis])]
            keys = [_order(value, largest) for value in line]
            best = sorted(range(len(line)), key=keys.__getitem__)
            for place, at in enumerate(best[:k]):
                values[(*before, place, *after)] = x[(*before, at, *after)]
                indices[(*before, place, *after)] = at
    return values, indices


def _order(value: Any, largest: bool) -> tuple[bool, Any]:
    """A key that sorts best first, NaN as the largest of all."""
    nan = value != value
    return nan != largest, 0 if nan else (-value if largest else value)


_HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "less_equal": operator.le,
    "less": operator.lt,
    "greater_equal": operator.ge,
    "greater": operator.gt,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


_VOTES: Mapping[str, Callable[[list[float]], float]] = {"sum": math.fsum, "min": min, "max": max}


def _tree_ensemble(
    x: Array,
    roots: Array,
    modes: Array,
    features: Array,
    splits: Array,
    yes: Array,
    no: Array,
    weights: Array,
    nans: Array | None = None,
    *,
    comparisons: Sequence[str],
    depth: int,
    aggregate: str,
) -> Array:
    y = np.empty((len(x), weights.shape[1]), x.dtype)
    for row in range(len(x)):
        said = []
        for at in roots.tolist():
            for _ in range(depth):
                number = x[row, features[at]].item()
                met = _HOLDS[comparisons[modes[at]]](number, splits[at].item())
                met = met or (nans is not None and bool(nans[at]) and math.isnan(number))
                at = int(yes[at] if met else no[at])
            said.append(weights[at].astype(np.float64))
        for target in range(weights.shape[1]):
            numbers = [each[target] for each in said]
            y[row, target] = _VOTES[aggregate](numbers)
    return y


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "gather": _gather,
    "gather_elements": _gather_elements,
    "gather_nd": _gather_nd,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
    "top_k": _top_k,
    "tree_ensemble": _tree_ensemble,
}
