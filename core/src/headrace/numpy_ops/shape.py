"""The same elements in another shape or order, in numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.ops.axes import permutation
from headrace.tensor_spec import Array


def _identity(call: OpCall, x: Array) -> Array:
    return x


def _reshape(call: OpCall, x: Array) -> Array:
    return x.reshape(call.outputs[0].shape)


def _transpose(call: OpCall, x: Array) -> Array:
    return x.transpose(permutation(call))


MOVES: Mapping[str, Callable[[OpCall, Array], Array]] = {
    "identity": _identity,
    "reshape": _reshape,
    "transpose": _transpose,
}
"""Ops whose output has the elements of the input; it is made as a view, where numpy has one."""


def _expand(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    outputs[0][...] = given(inputs, 0)  # broadcasts, which is all that it is


def _moved(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    outputs[0][...] = MOVES[call.op](call, given(inputs, 0))


FUNCTIONS: Mapping[str, NumpyFunction] = {"expand": _expand, **dict.fromkeys(MOVES, _moved)}
