"""Distributions along an axis, and that of classes by those of their pairs, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.numpy_ops.elementwise import elementwise
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.tensor_spec import Array


def _below_greatest(call: OpCall, x: Array, out: Array) -> int:
    """Write ``x`` less the greatest of its line, for which ``exp`` cannot overflow; the axis."""
    axis = call.int_attr("axis")
    np.subtract(x, np.max(x, axis=axis, keepdims=True, initial=-np.inf), out=out)
    return axis


def _softmax(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    axis = _below_greatest(call, xs[0], out)
    np.exp(out, out=out)
    np.divide(out, np.sum(out, axis=axis, keepdims=True), out=out)


def _log_softmax(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    axis = _below_greatest(call, xs[0], out)
    np.subtract(out, np.log(np.sum(np.exp(out), axis=axis, keepdims=True)), out=out)


def _couple_pairs(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """All rows at once, each of which keeps what it has when it is near enough."""
    shares, classes = given(inputs, 0).astype(np.float64), call.int_attr("classes")
    table = np.zeros((len(shares), classes, classes))
    first, second = np.triu_indices(classes, 1)
    table[:, first, second] = shares
    table[:, second, first] = 1 - shares
    products = -np.swapaxes(table, 1, 2) * table
    places = np.arange(classes)
    products[:, places, places] = (table**2).sum(1)
    p = np.full((len(shares), classes), 1 / classes)
    for _ in range(max(100, classes)):
        sums = np.einsum("nij,nj->ni", products, p)
        total = (p * sums).sum(1)
        goes_on = np.abs(sums - total[:, None]).max(1, initial=0) >= 0.005 / classes
        if not goes_on.any():
            break
        for place in places:
            own = products[:, place, place]
            step = np.where(goes_on, (total - sums[:, place]) / own, 0)
            grown = 1 + step
            total = (total + step * (step * own + 2 * sums[:, place])) / grown**2
            p[:, place] += step
            p /= grown[:, None]
            sums = (sums + step[:, None] * products[:, place]) / grown[:, None]
    outputs[0][...] = p


# Not elementwise, but half floats go through float32 in the same way.
FUNCTIONS: Mapping[str, NumpyFunction] = {
    "softmax": elementwise(_softmax),
    "log_softmax": elementwise(_log_softmax),
    "couple_pairs": _couple_pairs,
}
