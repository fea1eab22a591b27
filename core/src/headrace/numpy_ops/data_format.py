"""Ops over images, in numpy: computed channels first, whatever their format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headrace.data_format import CHANNELS_LAST, Order, format_of, order_between, other_format
from headrace.numpy_ops.function import NumpyFunction
from headrace.op_call import Attrs, OpCall
from headrace.ops import Op
from headrace.tensor_spec import Array, TensorSpec


def either_format(op: type[Op], function: NumpyFunction) -> NumpyFunction:
    """``function``, which computes channels-first calls of ``op``, for calls of both formats."""

    def compute(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
        if format_of(call) != CHANNELS_LAST:
            function(call, inputs, outputs)
            return
        rank = call.input(0).rank
        order = order_between(CHANNELS_LAST, other_format(CHANNELS_LAST), rank)
        there = op.reordered(call, order)
        assert there is not None, f"{call} has no other format"
        given = tuple(map(_moved, inputs, there.inputs))
        made = tuple(map(_moved, outputs, there.outputs))
        first = replace(
            call,
            inputs=tuple(None if array is None else TensorSpec.of(array) for array in given),
            outputs=tuple(TensorSpec.of(array) for array in made if array is not None),
            attrs=Attrs(there.attrs),
        )
        results = tuple(np.empty(spec.shape, spec.dtype.numpy) for spec in first.outputs)
        function(first, given, results)
        for output, result, moved in zip(outputs, results, there.outputs, strict=True):
            output[...] = result.transpose(tuple(np.argsort(moved)))

    return compute


def _moved(array: Array | None, order: Order | None) -> Array | None:
    """Contiguous, as numpy functions may reshape what they are given."""
    if array is None or order is None:
        return array
    return np.ascontiguousarray(array.transpose(order))
