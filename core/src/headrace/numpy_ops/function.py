"""The type of a numpy op and the helpers that several families share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.errors import OpError
from headrace.op_call import OpCall
from headrace.tensor_spec import Array

NumpyFunction = Callable[[OpCall, Sequence[Array | None], Sequence[Array]], None]
"""``f(call, inputs, outputs)``: computes ``call`` from ``inputs`` into ``outputs``.

Inputs are as in ``call.inputs``, may lie in any way (a constant that was transposed is a view), and
are not written; each output is contiguous, has the spec in ``call.outputs`` and is written whole.
Outputs never share memory with inputs unless the op's ``in_place`` says so.
"""


def given(inputs: Sequence[Array | None], index: int) -> Array:
    """The required input ``index``."""
    array = inputs[index]
    if array is None:
        raise OpError(f"input {index} is required and was not given")
    return array
