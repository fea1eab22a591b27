"""``Elementwise``: what all ops share that compute each element from those at the same index."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.data_format import Order
from headrace.dtypes import DType
from headrace.op_call import OpCall
from headrace.ops.schema import Op, Reordered, SbpSignature
from headrace.ops.shapes import broadcast
from headrace.sbp import Broadcast, PartialSum, Sbp, Split
from headrace.tensor_spec import TensorSpec


class Elementwise(Op):
    """``y`` has the broadcast shape of all inputs and the dtype of the first."""

    @classmethod
    def result_dtype(cls, call: OpCall) -> DType:
        """The dtype of ``y``."""
        return call.input(0).dtype

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        given = [spec for spec in call.inputs if spec is not None]
        shape = broadcast(call, *[spec.shape for spec in given])
        dtype = cls.result_dtype(call)
        for spec in given:  # most often it is one of these, and then the same object
            if spec.shape == shape and spec.dtype == dtype:
                return (spec,)
        return (TensorSpec(shape, dtype),)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return tuple((i, 0) for i, spec in enumerate(call.inputs) if spec == call.outputs[0])

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return split_everywhere(call)

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        if len(order) != call.outputs[0].rank:
            return None
        # One element is stretched along every axis, wherever it stands.
        given = [None if spec is None or spec.elements == 1 else order for spec in call.inputs]
        return Reordered(call.attrs, tuple(given), (order,))


def split_everywhere(call: OpCall) -> tuple[SbpSignature, ...]:
    """Split along each axis of ``y``; an input that is stretched along it is whole everywhere."""
    y = call.outputs[0]
    signatures = []
    for axis, dim in enumerate(y.shape):
        if dim < 2:  # nothing to share out
            continue
        inputs: list[Sbp] = []
        for spec in call.inputs:
            own = -1 if spec is None else axis - (y.rank - spec.rank)
            stretched = own < 0 or spec is None or spec.shape[own] != dim
            inputs.append(Broadcast() if stretched else Split(own))
        signatures.append(SbpSignature(tuple(inputs), (Split(axis),)))
    return tuple(signatures)


def split_along(*pairs: tuple[Sequence[int | None], int]) -> tuple[SbpSignature, ...]:
    """One signature for each pair of the axes that the inputs are split along, and the output's.

    None stands for an input that every device has whole.

    Example:
        >>> [str(s) for s in split_along(((1, None), 0))[0].inputs]
        ['S(1)', 'B']
    """
    return tuple(
        SbpSignature(
            tuple(Broadcast() if axis is None else Split(axis) for axis in axes), (Split(made),)
        )
        for axes, made in pairs
    )


def partial(reduction: str, *layouts: tuple[int, ...], count: int) -> tuple[SbpSignature, ...]:
    """Signatures with a partial result; each layout names the partial ones of ``count`` inputs.

    Example:
        >>> [str(s) for s in partial("sum", (0,), count=2)[0].inputs]
        ['P', 'B']
    """
    part = PartialSum(reduction)
    return tuple(
        SbpSignature(tuple(part if i in layout else Broadcast() for i in range(count)), (part,))
        for layout in layouts
    )


def along_axis(call: OpCall, order: Order) -> Reordered:
    """``reordered`` of an op whose first input has an ``axis``, and whose others stay as they are.

    Outputs have the axes of the first input.
    """
    axis = order.index(call.int_attr("axis") % len(order))
    given = (order, *(None,) * (len(call.inputs) - 1))
    return Reordered(call.attrs | {"axis": axis}, given, (order,) * len(call.outputs))
