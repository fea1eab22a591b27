"""Axes folded into one element: sums, means, extremes, products, and where the extremes are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from headrace.data_format import Order
from headrace.dtypes import BOOL, NUMBERS, DType, float32, int64, uint64
from headrace.op_call import OpCall
from headrace.ops.axes import folded_axes
from headrace.ops.failure import fail
from headrace.ops.formula import HALF, Formula
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, Reordered, SbpSignature, Tensor
from headrace.ops.shapes import normal_axes, normal_axis
from headrace.ops.widening import WIDER
from headrace.sbp import PartialSum, Split
from headrace.tensor_spec import TensorSpec


class Reduce(Op):
    """Folds the axes ``axes`` of ``x``; all of them when ``axes`` is empty.

    Attributes:
        axes: which axes; negative ones count from the end.
        keep_dims: leave each folded axis in ``y``, with one element.
    """

    inputs = (Input("x", NUMBERS),)
    attrs = (Attr("axes", "ints", ()), Attr("keep_dims", "bool", False))
    joined_by: ClassVar[str] = ""
    """How results of parts become that of the whole; empty when they do not."""

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x = call.input(0)
        normal_axes(call, call.ints_attr("axes"), x.rank)
        return (x.with_shape(_folded(x.shape, folded_axes(call), call.flag_attr("keep_dims"))),)

    @classmethod
    def widens(cls, call: OpCall) -> bool:
        return call.input(0).elements > 0  # of nothing, an extreme is the dtype's own

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        folded = folded_axes(call)
        if not cls.joined_by or call.input(0).dtype not in NUMBERS:
            return _kept_splits(call, folded)
        part = PartialSum(cls.joined_by)
        return (
            *_kept_splits(call, folded),
            *(
                SbpSignature((Split(axis),), (part,))
                for axis in sorted(folded)
                if call.input(0).shape[axis] > 1
            ),
            SbpSignature((part,), (part,)),
        )

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        folded = folded_axes(call)
        axes = tuple(sorted(order.index(axis) for axis in folded))
        made = _kept_order(call, folded, order)
        return Reordered(call.attrs | {"axes": axes}, (order,), (made,))


class ReduceSum(Reduce):
    """The sum; integers wrap around; of nothing, 0."""

    name = "reduce_sum"
    joined_by = "sum"


class ReduceMean(Reduce):
    """The sum divided by the number of elements; of nothing, NaN.

    The sum of integers does not wrap around below 64 bits, and the quotient is cut towards zero.
    """

    name = "reduce_mean"

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder, wide=mean_dtype(call))
        total = f.op("reduce_sum", f.take(inputs[0]), **call.attrs)
        return f.give(f.op("divide", total, f.scalar(folded_elements(call))))


class ReduceMax(Reduce):
    """The greatest; NaN if there is one; of nothing, -inf or the smallest value of the dtype."""

    name = "reduce_max"
    joined_by = "max"
    inputs = (Input("x", NUMBERS | BOOL),)


class ReduceMin(Reduce):
    """The least; NaN if there is one; of nothing, inf or the greatest value of the dtype."""

    name = "reduce_min"
    joined_by = "min"
    inputs = (Input("x", NUMBERS | BOOL),)


class ReduceProd(Reduce):
    """The product; integers wrap around; of nothing, 1."""

    name = "reduce_prod"


class ArgReduce(Op):
    """Where along ``axis`` the extreme stands, as int64; the first NaN counts as the extreme.

    Attributes:
        axis: negative ones count from the end.
        keep_dims: leave the axis in ``y``, with one element.
        select_last_index: of equal extremes, or of NaNs, take the last instead of the first.
    """

    inputs = (Input("x", NUMBERS),)
    attrs = (
        Attr("axis", "int", 0),
        Attr("keep_dims", "bool", False),
        Attr("select_last_index", "bool", False),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x = call.input(0)
        axis = normal_axis(call, call.int_attr("axis"), x.rank)
        if x.shape[axis] == 0:
            fail(call, f"axis {axis} of {x} is empty: nothing stands there")
        return (TensorSpec(_folded(x.shape, {axis}, call.flag_attr("keep_dims")), int64),)

    @classmethod
    def widens(cls, call: OpCall) -> bool:
        return True

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return _kept_splits(call, {call.int_attr("axis") % call.input(0).rank})

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        folded = call.int_attr("axis") % len(order)
        axis, made = order.index(folded), _kept_order(call, {folded}, order)
        return Reordered(call.attrs | {"axis": axis}, (order,), (made,))


class Argmax(ArgReduce):
    """Where the greatest element stands."""

    name = "argmax"


class Argmin(ArgReduce):
    """Where the least element stands."""

    name = "argmin"


def mean_dtype(call: OpCall) -> DType:
    """The dtype that a mean is computed in."""
    dtype = call.input(0).dtype
    if dtype.is_float:
        return float32 if dtype in HALF else dtype
    if dtype in WIDER and folded_elements(call) << 8 * dtype.itemsize < 1 << 31:
        return WIDER[dtype]  # which few devices lack, and in which no sum wraps around
    return uint64 if dtype.kind == "u" else int64


def folded_elements(call: OpCall) -> int:
    """How many elements a checked reduction folds into one."""
    count = 1
    for axis in folded_axes(call):
        count *= call.input(0).shape[axis]
    return count


def _folded(shape: tuple[int, ...], axes: set[int], keep_dims: bool) -> tuple[int, ...]:
    if keep_dims:
        return tuple(1 if axis in axes else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in axes)


def _kept_splits(call: OpCall, axes: set[int]) -> tuple[SbpSignature, ...]:
    """Split along each axis that is not folded; a folded axis must be whole on every device."""
    signatures = []
    for axis, dim in enumerate(call.input(0).shape):
        if axis in axes or dim < 2:
            continue
        gone = 0 if call.flag_attr("keep_dims") else sum(folded < axis for folded in axes)
        signatures.append(SbpSignature((Split(axis),), (Split(axis - gone),)))
    return tuple(signatures)


def _kept_order(call: OpCall, folded: set[int], order: Order) -> Order:
    """The order of what is left of axes in ``order``."""
    if call.flag_attr("keep_dims"):
        return order
    kept = [axis for axis in order if axis not in folded]
    return tuple(sorted(kept).index(axis) for axis in kept)


OPS: tuple[type[Op], ...] = (
    ReduceSum,
    ReduceMean,
    ReduceMax,
    ReduceMin,
    ReduceProd,
    Argmax,
    Argmin,
)
