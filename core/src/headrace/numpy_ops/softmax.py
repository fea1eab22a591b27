"""Distributions along an axis, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.numpy_ops.elementwise import elementwise
from headrace.numpy_ops.function import NumpyFunction
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


# Not elementwise, but half floats go through float32 in the same way.
FUNCTIONS: Mapping[str, NumpyFunction] = {
    "softmax": elementwise(_softmax),
    "log_softmax": elementwise(_log_softmax),
}
