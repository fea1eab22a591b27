"""Elements chosen by index tensors, or by their order, in numpy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from headrace.dtypes import bfloat16, float16
from headrace.errors import OpError
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.ops.failure import fail
from headrace.tensor_spec import Array


def _gather(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, indices = given(inputs, 0), given(inputs, 1)
    axis = call.int_attr("axis") % x.ndim
    _check(call, indices, x.shape[axis], axis)
    # The range is checked: with "wrap", unlike "raise", numpy writes to `out` without a buffer.
    if outputs[0].size:
        np.take(x, indices, axis=axis, out=outputs[0], mode="wrap")


def _gather_elements(
    call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]
) -> None:
    x, indices = given(inputs, 0), given(inputs, 1)
    outputs[0][...] = x[_element_index(call, x, indices)]


def _gather_nd(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, indices = given(inputs, 0), given(inputs, 1)
    outputs[0][...] = x[_nd_index(call, x, indices, call.int_attr("batch_dims"))]


def _scatter_elements(
    call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]
) -> None:
    x, indices, updates = given(inputs, 0), given(inputs, 1), given(inputs, 2)
    index = _element_index(call, x, indices)
    outputs[0][...] = x
    _combine(outputs[0], index, updates, call.str_attr("reduction"))


def _scatter_nd(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, indices, updates = given(inputs, 0), given(inputs, 1), given(inputs, 2)
    index = _nd_index(call, x, indices, 0)
    outputs[0][...] = x
    _combine(outputs[0], index, updates, call.str_attr("reduction"))


_REDUCE = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def _combine(out: Array, index: tuple[Array, ...], updates: Array, reduction: str) -> None:
    if reduction == "none":
        out[index] = updates
        return
    places: Array = np.zeros((), np.int64)
    for axis, given_at in enumerate(index):
        at = given_at
        if at.size and at.min() < 0:
            at = np.where(at < 0, at + out.shape[axis], at)
        places = places + at * math.prod(out.shape[axis + 1 :])
    inner = math.prod(out.shape[len(index) :])
    if inner != 1:
        places = places.reshape(-1, 1) + np.arange(inner)
    assert out.flags.c_contiguous  # else the line would be a copy
    line = out.reshape(-1)
    # Unlike `out[index] += updates`, `at` counts an element that is named twice twice. Along one
    # axis it is ten times faster than along several.
    _REDUCE[reduction].at(line, places.reshape(-1), updates.reshape(-1))


def _element_index(call: OpCall, x: Array, indices: Array) -> tuple[Array, ...]:
    """What to index ``x`` with: the own position of each index, but for ``axis`` the index."""
    axis = call.int_attr("axis") % x.ndim
    _check(call, indices, x.shape[axis], axis)
    index = list(np.ogrid[tuple(slice(dim) for dim in indices.shape)])
    index[axis] = indices
    return tuple(index)


def _nd_index(call: OpCall, x: Array, indices: Array, batch: int) -> tuple[Array, ...]:
    """What to index ``x`` with: positions of the batch axes, then the columns of ``indices``."""
    columns = [indices[..., column] for column in range(indices.shape[-1])]
    for axis, column in enumerate(columns, batch):
        _check(call, column, x.shape[axis], axis)
    index = list(np.ogrid[tuple(slice(dim) for dim in indices.shape[:-1])])[:batch]
    return tuple(index + columns)


def _check(call: OpCall, indices: Array, size: int, axis: int) -> None:
    """Fail unless all ``indices`` are in ``-size..size-1``.

    Raises:
        OpError: one is outside; names the first.
    """
    if indices.size == 0 or (indices.min() >= -size and indices.max() < size):
        return
    outside = indices[(indices < -size) | (indices >= size)]
    fail(call, f"index {outside[0]} is outside axis {axis}, which has {size} elements", OpError)


def _top_k(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, axis, k = given(inputs, 0), call.int_attr("axis"), call.int_attr("k")
    # 16-bit floats sort as float32, which holds them all and whose NaNs numpy puts last.
    keys = x.astype(np.float32) if call.outputs[0].dtype in (float16, bfloat16) else x
    if call.flag_attr("largest"):
        # Backwards twice: so equal elements keep their order and no key needs a negative.
        backwards = np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
        order = x.shape[axis] - 1 - np.flip(backwards, axis)
    else:
        order = np.argsort(keys, axis=axis, kind="stable")
    best = np.take(order, np.arange(k), axis=axis)
    outputs[0][...] = np.take_along_axis(x, best, axis=axis)
    outputs[1][...] = best


_COMPARE: Mapping[str, np.ufunc] = {
    "less_equal": np.less_equal,
    "less": np.less,
    "greater_equal": np.greater_equal,
    "greater": np.greater,
    "equal": np.equal,
    "not_equal": np.not_equal,
}
_FOLD: Mapping[str, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def _tree_ensemble(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, roots, modes, features, splits, yes, no, weights = (given(inputs, at) for at in range(8))
    nodes, comparisons = len(weights), call.strs_attr("comparisons")
    for table in (roots, yes, no):
        _check(call, table, nodes, 0)
    _check(call, features, x.shape[1], 1)
    _check(call, modes, len(comparisons), 0)
    at = np.broadcast_to(roots, (len(x), roots.size))
    for _ in range(call.int_attr("depth")):
        number = np.take_along_axis(x, features[at] % x.shape[1], axis=1)
        split, mode = splits[at], modes[at] % len(comparisons)
        met = np.zeros(at.shape, bool)
        for index, comparison in enumerate(comparisons):
            met |= (mode == index) & _COMPARE[comparison](number, split)
        if inputs[8] is not None:
            met |= np.isnan(number) & inputs[8][at]
        at = np.where(met, yes[at], no[at])
    said = weights[at]
    if said.dtype in (float16, bfloat16):
        said = said.astype(np.float32)
    outputs[0][...] = _FOLD[call.str_attr("aggregate")].reduce(said, axis=1)


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "gather": _gather,
    "gather_elements": _gather_elements,
    "gather_nd": _gather_nd,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
    "top_k": _top_k,
    "tree_ensemble": _tree_ensemble,
}
