"""Elementwise arithmetic of two tensors, with broadcasting, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.tensor_spec import Array


def _ufunc(ufunc: np.ufunc) -> NumpyFunction:
    """The op that is one numpy ufunc of two arguments with the dtype of its output."""

    def run(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
        ufunc(given(inputs, 0), given(inputs, 1), out=outputs[0])

    return run


FUNCTIONS: Mapping[str, NumpyFunction] = {"add": _ufunc(np.add)}
