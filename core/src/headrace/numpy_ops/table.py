"""The table of all numpy ops, by op name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headrace.numpy_ops.function import NumpyFunction
from headrace.op_call import OpCall
from headrace.ops.families import merged
from headrace.tensor_spec import Array

FUNCTIONS: Mapping[str, NumpyFunction] = merged("headrace.numpy_ops", "FUNCTIONS")
"""The numpy computation of every op that has one, by op name."""


def evaluate(
    call: OpCall, inputs: Sequence[Array | None], function: NumpyFunction | None = None
) -> tuple[Array, ...]:
    """Compute ``call`` into new arrays, with ``function`` or the one of the table.

    Floating point warnings are off: overflow and invalid values give inf and NaN, as on devices.
    """
    outputs = tuple(np.empty(spec.shape, spec.dtype.numpy) for spec in call.outputs)
    with np.errstate(all="ignore"):
        (function or FUNCTIONS[call.op])(call, inputs, outputs)
    return outputs
