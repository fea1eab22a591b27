"""cpu.pack: a matrix of weights in panels of sixteen columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from headrace.dtypes import uint8, uint32
from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr, Input, Op
from headrace.ops.failure import fail
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.ops.epilogue import WEIGHTS
from headrace_cpu.ops.places import PANEL, panel_count


class Pack(Op):
    """A matrix, or one for each group of its columns, as the products of this backend read it.

    matrix: T[depth, columns], or [columns, ...] with the depth in the axes that follow if
    ``transposed``; T is a float of 32 or 16 bits, uint32 or uint8. y: T[panels, depth, 16],
    group by group, the last panel of each filled up with zeros.
    """

    name = "cpu.pack"
    folds_late = True
    inputs = (Input("matrix", WEIGHTS | {uint8, uint32}),)
    attrs = (Attr("groups", "int", 1), Attr("transposed", "bool", False))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        matrix = call.input(0)
        if matrix.rank < 2 or (matrix.rank > 2 and not call.flag_attr("transposed")):
            fail(call, f"matrix is {matrix}; it must have rows and columns")
        sides = matrix_of(call)
        if call.int_attr("groups") < 1 or sides.columns % call.int_attr("groups"):
            fail(call, f"groups={call.int_attr('groups')} must divide the columns of {matrix}")
        per_group = sides.columns // call.int_attr("groups")
        panels = call.int_attr("groups") * panel_count(per_group)
        return (matrix.with_shape((panels, sides.depth, PANEL)),)


class Sides(NamedTuple):
    """The sides of a matrix."""

    depth: int
    columns: int


def matrix_of(call: OpCall) -> Sides:
    """The sides of the matrix that a ``cpu.pack`` packs."""
    shape = call.input(0).shape
    if call.flag_attr("transposed"):
        return Sides(math.prod(shape[1:]), shape[0])
    return Sides(*shape)


def pack(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.pack``: natively, since it is done to most of the bytes of a model."""
    groups, transposed = call.int_attr("groups"), call.flag_attr("transposed")
    native.pack(given(inputs, 0), outputs[0], groups, transposed)()


def unpack(panels: Array, columns: int, groups: int = 1) -> Array:
    """The matrices that were packed: T[groups, depth, columns / groups]."""
    depth = panels.shape[1]
    wide = panels.reshape(groups, -1, depth, PANEL).transpose(0, 2, 1, 3).reshape(groups, depth, -1)
    return wide[:, :, : columns // groups]
