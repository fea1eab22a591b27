"""How numpy functions of arrays become elementwise ops: half floats go through float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.numpy_ops.function import NumpyFunction
from headrace.op_call import OpCall
from headrace.tensor_spec import Array

Compute = Callable[[OpCall, Sequence[Any], Array], object]
"""``f(call, inputs, out)``: writes ``out``, which may be an input, once its inputs are used up."""


def _is_half(dtype: np.dtype[Any]) -> bool:
    """float16; or bfloat16, which is void to numpy: naming it would import ml_dtypes."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def wide(x: Array) -> Array:
    """``x``, in float32 if it is of half floats: numpy's own half arithmetic is slow or absent."""
    return x.astype(np.float32) if _is_half(x.dtype) else x


def elementwise(compute: Compute) -> NumpyFunction:
    """The op that ``compute`` computes; half floats are computed in float32 and rounded once."""

    def run(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
        out = outputs[0]
        arrays = [None if x is None else wide(x) for x in inputs]
        if _is_half(out.dtype):
            result = np.empty(out.shape, np.float32)
            compute(call, arrays, result)
            out[...] = result
        else:
            compute(call, arrays, out)

    return run


def ufunc(function: np.ufunc) -> NumpyFunction:
    """The op that is one numpy ufunc."""

    def compute(call: OpCall, xs: Sequence[Any], out: Array) -> None:
        function(*xs, out=out)

    return elementwise(compute)
