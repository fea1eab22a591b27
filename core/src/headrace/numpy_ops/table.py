"""The table of all numpy ops, by op name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from headrace.numpy_ops import (
    activation,
    binary,
    cast,
    conv,
    fill,
    gather,
    logic,
    matmul,
    norm,
    pool,
    reduce,
    resize,
    shape,
    slice,
    softmax,
    unary,
)
from headrace.numpy_ops.function import NumpyFunction
from headrace.op_call import OpCall
from headrace.tensor_spec import Array

_FAMILIES = (
    unary,
    binary,
    activation,
    logic,
    cast,
    matmul,
    reduce,
    softmax,
    conv,
    pool,
    norm,
    resize,
    shape,
    slice,
    gather,
    fill,
)

FUNCTIONS: Mapping[str, NumpyFunction] = MappingProxyType(
    {name: function for family in _FAMILIES for name, function in family.FUNCTIONS.items()}
)
"""The numpy computation of every op that has one, by op name."""


def evaluate(call: OpCall, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """Compute ``call`` into new arrays.

    Floating point warnings are off: overflow and invalid values give inf and NaN, as on devices.
    """
    outputs = tuple(np.empty(spec.shape, spec.dtype.numpy) for spec in call.outputs)
    with np.errstate(all="ignore"):
        FUNCTIONS[call.op](call, inputs, outputs)
    return outputs
