"""Axes folded into one element, in numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headrace.numpy_ops.elementwise import wide
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.ops.axes import folded_axes
from headrace.ops.reduce import folded_elements, mean_dtype
from headrace.tensor_spec import Array


def _fold(
    call: OpCall, ufunc: np.ufunc, x: Array, dtype: np.dtype[np.generic], initial: object
) -> Array:
    """Fold the axes of ``call`` in ``dtype``, starting from ``initial``; the axes are kept."""
    axes = tuple(sorted(folded_axes(call)))
    result: Array = ufunc.reduce(x, axis=axes, dtype=dtype, keepdims=True, initial=initial)
    return result


def _reduction(ufunc: np.ufunc, initial: object) -> NumpyFunction:
    def run(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
        x, out = wide(given(inputs, 0)), outputs[0]
        out[...] = _fold(call, ufunc, x, x.dtype, initial).reshape(out.shape)

    return run


def _extreme(ufunc: np.ufunc, greatest: bool) -> NumpyFunction:
    """``reduce_max`` or ``reduce_min``; begins at the value that any other replaces."""

    def run(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
        x, out = wide(given(inputs, 0)), outputs[0]
        initial: object
        if x.dtype.kind == "f":
            initial = -np.inf if greatest else np.inf
        elif x.dtype.kind == "b":
            initial = not greatest
        else:
            limits = np.iinfo(x.dtype)
            initial = limits.min if greatest else limits.max
        out[...] = _fold(call, ufunc, x, x.dtype, initial).reshape(out.shape)

    return run


def _mean(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    dtype, out, count = mean_dtype(call), outputs[0], folded_elements(call)
    total = _fold(call, np.add, wide(given(inputs, 0)), dtype.numpy, 0)
    if dtype.is_float:
        mean = total / dtype.numpy.type(count)
    elif count == 0:
        mean = total  # as dividing an integer by zero: 0
    else:
        # Less its remainder, a total is a multiple of the count.
        divisor = dtype.numpy.type(count)
        mean = (total - np.fmod(total, divisor)) // divisor
    out[...] = mean.reshape(out.shape)


def _arg(find: Callable[..., Any]) -> NumpyFunction:
    def run(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
        x, out = wide(given(inputs, 0)), outputs[0]
        axis = call.int_attr("axis")
        if call.flag_attr("select_last_index"):
            index = x.shape[axis] - 1 - find(np.flip(x, axis), axis=axis)
        else:
            index = find(x, axis=axis)
        out[...] = np.reshape(index, out.shape)

    return run


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "reduce_sum": _reduction(np.add, 0),
    "reduce_mean": _mean,
    "reduce_max": _extreme(np.maximum, greatest=True),
    "reduce_min": _extreme(np.minimum, greatest=False),
    "reduce_prod": _reduction(np.multiply, 1),
    "argmax": _arg(np.argmax),
    "argmin": _arg(np.argmin),
}
