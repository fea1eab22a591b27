"""Collectives in numpy, for plugins that can see the memory of all their devices as arrays.

Each computes the outputs of all devices from the inputs of all: see ``headrace.device.COLLECTIVES``
for what a call holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from headrace.op_call import OpCall
from headrace.tensor_spec import Array

NumpyCollective = Callable[[OpCall, Sequence[Array], Sequence[Array]], None]
"""``f(call, inputs, outputs)``: writes every output; inputs are not written."""

_REDUCE: Mapping[str, np.ufunc] = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def all_reduce(call: OpCall, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    """Every output is the reduction of all inputs, in the order of the devices."""
    whole = _reduced(call, inputs)
    for output in outputs:
        output[...] = whole


def reduce_scatter(call: OpCall, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    """The outputs are the slices of the reduction of all inputs."""
    _share_out(_reduced(call, inputs), call.int_attr("axis"), outputs)


def all_gather(call: OpCall, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    """Every output is all inputs, joined."""
    whole = np.concatenate(inputs, axis=call.int_attr("axis"))
    for output in outputs:
        output[...] = whole


def broadcast(call: OpCall, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    """Every output is the input."""
    for output in outputs:
        output[...] = inputs[0]


def all_to_all(call: OpCall, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    """Slices along ``from_axis`` become slices along ``axis``."""
    whole = np.concatenate(inputs, axis=call.int_attr("from_axis"))
    _share_out(whole, call.int_attr("axis"), outputs)


def _reduced(call: OpCall, inputs: Sequence[Array]) -> Array:
    combine = _REDUCE[call.str_attr("reduction")]
    total = inputs[0]
    for term in inputs[1:]:
        total = combine(total, term)
    return total


def _share_out(whole: Array, axis: int, outputs: Sequence[Array]) -> None:
    begin = 0
    for output in outputs:
        end = begin + output.shape[axis]
        output[...] = whole[(slice(None),) * axis + (slice(begin, end),)]
        begin = end


NUMPY_COLLECTIVES: Mapping[str, NumpyCollective] = {
    function.__name__: function
    for function in (all_reduce, reduce_scatter, all_gather, broadcast, all_to_all)
}
"""All of ``headrace.device.COLLECTIVES`` by name."""
