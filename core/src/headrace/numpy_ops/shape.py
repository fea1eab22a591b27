"""The same elements in another shape or order, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.ops.shape import permutation
from headrace.tensor_spec import Array


def _copy(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    outputs[0][...] = given(inputs, 0)  # broadcasts, which is all that `expand` is


def _reshape(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    outputs[0][...] = given(inputs, 0).reshape(outputs[0].shape)


def _transpose(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    outputs[0][...] = given(inputs, 0).transpose(permutation(call))


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "identity": _copy,
    "reshape": _reshape,
    "transpose": _transpose,
    "expand": _copy,
}
