"""The table of all numpy ops, by op name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headrace.aligned import Empty, aligned_empty
from headrace.numpy_ops.function import NumpyFunction
from headrace.op_call import OpCall
from headrace.ops.families import FamilyTable
from headrace.tensor_spec import Array

FUNCTIONS: Mapping[str, NumpyFunction] = FamilyTable(
    lambda family: family.FUNCTIONS, "headrace.numpy_ops"
)
"""The numpy computation of every op, by op name."""


def evaluate(
    call: OpCall,
    inputs: Sequence[Array | None],
    function: NumpyFunction | None = None,
    empty: Empty = aligned_empty,
) -> tuple[Array, ...]:
    """Compute ``call``, with ``function`` or the one of the table.

    The results are new arrays that ``empty`` gives; but what only moves elements (``MOVES``), or
    takes many of them, gives a view of its input, which may not lie row by row. Floating point
    warnings are off: overflow and invalid values give inf and NaN, as on devices.
    """
    from headrace.numpy_ops.shape import MOVES

    move = MOVES.get(call.op)
    if move is not None and inputs[0] is not None:
        return (move(call, inputs[0]),)
    if call.op == "slice" and inputs[0] is not None and _takes_much(call):
        from headrace.numpy_ops.slice import part

        return (part(call, inputs[0]),)
    outputs = tuple([empty(spec.shape, spec.dtype.numpy) for spec in call.outputs])
    with np.errstate(all="ignore"):
        (function or FUNCTIONS[call.op])(call, inputs, outputs)
    return outputs


def _takes_much(call: OpCall) -> bool:
    """Whether a ``slice`` takes so much that it may keep all that it is a part of in memory."""
    return _PARTS * call.outputs[0].elements >= call.input(0).elements


_PARTS = 4
"""The gates of a recurrent layer, which stand in another order where exporters cut them out."""
