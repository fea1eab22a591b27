"""Products of matrices, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headrace.numpy_ops.elementwise import wide
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.tensor_spec import Array


def _matmul(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    a, b, out = wide(given(inputs, 0)), wide(given(inputs, 1)), outputs[0]
    if call.flag_attr("transpose_a"):
        a = a.swapaxes(-1, -2)
    if call.flag_attr("transpose_b"):
        b = b.swapaxes(-1, -2)
    if out.dtype == a.dtype and out.ndim:
        np.matmul(a, b, out=out)
    else:  # half floats, or two vectors, whose product numpy returns as a scalar
        out[...] = np.matmul(a, b)


FUNCTIONS: Mapping[str, NumpyFunction] = {"matmul": _matmul}
