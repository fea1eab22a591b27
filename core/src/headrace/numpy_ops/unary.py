"""Elementwise functions of one tensor, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.tensor_spec import Array


def _relu(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x = given(inputs, 0)
    np.maximum(x, x.dtype.type(0), out=outputs[0])


FUNCTIONS: Mapping[str, NumpyFunction] = {"relu": _relu}
