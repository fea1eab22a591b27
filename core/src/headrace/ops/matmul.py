"""Products of matrices."""

from __future__ import annotations

from typing import ClassVar

from headrace.dtypes import NUMBERS
from headrace.op_call import OpCall
from headrace.ops.elementwise import partial
from headrace.ops.failure import fail
from headrace.ops.schema import Attr, Input, Op, SbpSignature
from headrace.ops.shapes import broadcast
from headrace.sbp import Broadcast, PartialSum, Sbp, Split
from headrace.tensor_spec import TensorSpec


class Matmul(Op):
    """``y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]``; integers wrap around.

    Leading axes broadcast. A vector ``a`` is a row and a vector ``b`` a column, and the axis that
    this adds is not in ``y``.

    Attributes:
        transpose_a, transpose_b: exchange the last two axes first; not for vectors.
        rounds_a: how many numbers along the summed axis of ``a`` may be rounded together, to
            multiples of the largest of them by 127; 0 for none. Nobody has to.
    """

    name = "matmul"
    inputs: ClassVar[tuple[Input, ...]] = (Input("a", NUMBERS), Input("b", NUMBERS))
    attrs: ClassVar[tuple[Attr, ...]] = (
        Attr("transpose_a", "bool", False),
        Attr("transpose_b", "bool", False),
        Attr("rounds_a", "int", 0),
    )

    @classmethod
    def widens(cls, call: OpCall) -> bool:
        return True

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        a, b = call.input(0), call.input(1)
        for name, spec in (("a", a), ("b", b)):
            if spec.rank == 0:
                fail(call, f"{name} is a scalar, {spec}; use multiply")
            if spec.rank == 1 and call.flag_attr(f"transpose_{name}"):
                fail(call, f"transpose_{name} needs two axes; {name} is {spec}")
        m, inner_a = matrix_axes(call, 0)
        n, inner_b = matrix_axes(call, 1)
        if a.shape[inner_a] != b.shape[inner_b]:
            flags = f"transpose_a={call.flag_attr('transpose_a')}"
            flags += f", transpose_b={call.flag_attr('transpose_b')}"
            fail(call, f"inner sizes differ: a is {a} and b is {b} ({flags})")
        rows = () if m is None else (a.shape[m],)
        columns = () if n is None else (b.shape[n],)
        batch = broadcast(call, a.shape[:-2], b.shape[:-2])
        return (a.with_shape(batch + rows + columns),)

    @classmethod
    def products(cls, call: OpCall) -> int:
        return call.outputs[0].elements * call.input(0).shape[matrix_axes(call, 0)[1]]

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        a, b, y = call.input(0), call.input(1), call.outputs[0]
        m, inner_a = matrix_axes(call, 0)
        n, inner_b = matrix_axes(call, 1)
        batch_rank = y.rank - (m is not None) - (n is not None)
        found: list[SbpSignature] = []

        def add(left: Sbp, right: Sbp, result: Sbp) -> None:
            found.append(SbpSignature((left, right), (result,)))

        for axis in range(batch_rank):
            if y.shape[axis] > 1:
                left, right = (_batch(spec, axis, batch_rank, y) for spec in (a, b))
                add(left, right, Split(axis))
        if m is not None and a.shape[m] > 1:
            add(Split(m), Broadcast(), Split(batch_rank))
        if n is not None and b.shape[n] > 1:
            add(Broadcast(), Split(n), Split(y.rank - 1))
        if a.shape[inner_a] > 1:
            add(Split(inner_a), Split(inner_b), PartialSum())
        return (*found, *partial("sum", (0,), (1,), count=2))


def matrix_axes(call: OpCall, index: int) -> tuple[int | None, int]:
    """Of input ``index``: the axis that ``y`` keeps (None for a vector), and the summed one."""
    rank = call.input(index).rank
    if rank == 1:
        return None, 0
    # Untransposed, a is [m, k] and b is [k, n]: transposing a is like not transposing b.
    inner_last = call.flag_attr(("transpose_a", "transpose_b")[index]) == bool(index)
    return (rank - 2, rank - 1) if inner_last else (rank - 1, rank - 2)


def _batch(spec: TensorSpec, axis: int, batch_rank: int, y: TensorSpec) -> Sbp:
    """How an input lies when the leading axis ``axis`` of ``y`` is split."""
    own = axis - (batch_rank - max(spec.rank - 2, 0))
    stretched = own < 0 or spec.rank < 3 or spec.shape[own] != y.shape[axis]
    return Broadcast() if stretched else Split(own)


OPS: tuple[type[Op], ...] = (Matmul,)
