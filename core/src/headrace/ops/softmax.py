"""Distributions along an axis, and that of classes by those of their pairs."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.data_format import Order
from headrace.dtypes import FLOATS, float32
from headrace.errors import OpError
from headrace.op_call import OpCall
from headrace.ops.elementwise import along_axis, split_along
from headrace.ops.failure import fail
from headrace.ops.formula import Formula
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, Reordered, SbpSignature, Tensor
from headrace.ops.shapes import normal_axis
from headrace.sbp import Split
from headrace.tensor_spec import TensorSpec


class _AlongAxis(Op):
    """``y`` has the shape and dtype of ``x``, each line along ``axis`` for itself."""

    inputs = (Input("x", FLOATS),)
    attrs = (Attr("axis", "int", -1),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        normal_axis(call, call.int_attr("axis"), call.input(0).rank)
        return (call.input(0),)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        x = call.input(0)
        line = call.int_attr("axis") % x.rank  # needs all its elements on one device
        return tuple(
            SbpSignature((Split(axis),), (Split(axis),))
            for axis, dim in enumerate(x.shape)
            if axis != line and dim > 1
        )

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        return along_axis(call, order)


class Softmax(_AlongAxis):
    """``exp(x)`` divided by its sum along ``axis``."""

    name = "softmax"

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        grown = f.op("exp", _below_greatest(call, f, f.take(inputs[0])))
        return f.give(f.op("divide", grown, _sum(call, f, grown)))


class LogSoftmax(_AlongAxis):
    """The logarithm of ``softmax(x)``."""

    name = "log_softmax"

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        x = _below_greatest(call, f, f.take(inputs[0]))
        return f.give(f.op("subtract", x, f.op("log", _sum(call, f, f.op("exp", x)))))


class CouplePairs(Op):
    """Probabilities of classes that fit those of all pairs of them best.

    ``shares`` is ``[rows, classes * (classes - 1) / 2]``: of each pair, 0 and 1 first, then 0 and
    2, how probable the first class is, were it one of the two. ``y`` is ``[rows, classes]``. By the
    method of Wu, Lin and Weng, from equal probabilities on: p changes class by class until
    ``Q @ p`` is the same for all classes within 0.005 by their number, where
    ``Q[i, j] = -r[j, i] * r[i, j]``, ``Q[i, i] = sum over j of r[j, i] ** 2`` and r are the shares.
    At most 100 rounds or as many as there are classes are made.

    Attributes:
        classes: how many there are, 2 at least.
    """

    name = "couple_pairs"
    inputs = (Input("shares", frozenset({float32})),)
    attrs = (Attr("classes", "int"),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        shares, classes = call.input(0), call.int_attr("classes")
        if classes < 2:
            fail(call, f"classes={classes}; pairs are of two classes or more", OpError)
        pairs = classes * (classes - 1) // 2
        if shares.rank != 2 or shares.shape[1] != pairs:
            fail(
                call, f"shares of the pairs of {classes} classes are [rows, {pairs}]; got {shares}"
            )
        return (shares.with_shape((shares.shape[0], classes)),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return split_along(((0,), 0)) if call.input(0).shape[0] > 1 else ()


def _below_greatest(call: OpCall, f: Formula, x: Tensor) -> Tensor:
    """``x`` less the greatest of its line: the same distribution, and ``exp`` cannot overflow."""
    axes = (call.int_attr("axis"),)
    return f.op("subtract", x, f.op("reduce_max", x, axes=axes, keep_dims=True))


def _sum(call: OpCall, f: Formula, x: Tensor) -> Tensor:
    return f.op("reduce_sum", x, axes=(call.int_attr("axis"),), keep_dims=True)


OPS: tuple[type[Op], ...] = (Softmax, LogSoftmax, CouplePairs)
