"""cpu.pack_integers: a matrix of bytes in panels of sixteen columns, four of the depth together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.dtypes import int8, int32, uint8
from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr, Input, Op, Output
from headrace.ops.failure import fail
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.ops.pack import matrix_of
from headrace_cpu.ops.places import PANEL, panel_count

BYTES = frozenset({int8, uint8})

QUAD = 4
"""Numbers of a column that lie together."""

MOST_DEPTH = (2**31 - 1) // 255**2
"""So many products of bytes, less their zero points, have a sum of 32 bits whatever they are."""


class PackIntegers(Op):
    """A matrix of bytes, or one for each group of its columns, as integer products read it.

    matrix: int8[depth, columns] or uint8, of which 128 is taken off; [columns, ...] with the depth
    in the axes that follow if ``transposed``. panels: int8[panels, depth / 4, 16, 4], group by
    group, filled up with zeros. sums: int32[columns], of what was packed.
    """

    name = "cpu.pack_integers"
    folds_late = True
    inputs = (Input("matrix", BYTES),)
    outputs = (Output("panels"), Output("sums"))
    attrs = (Attr("groups", "int", 1), Attr("transposed", "bool", False))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        matrix = call.input(0)
        if matrix.rank < 2 or (matrix.rank > 2 and not call.flag_attr("transposed")):
            fail(call, f"matrix is {matrix}; it must have rows and columns")
        sides = matrix_of(call)
        groups = call.int_attr("groups")
        if groups < 1 or sides.columns % groups:
            fail(call, f"groups={groups} must divide the columns of {matrix}")
        panels = panels_shape(sides.depth, sides.columns, groups)
        return (TensorSpec(panels, int8), TensorSpec((sides.columns,), int32))


def panels_shape(depth: int, columns: int, groups: int = 1) -> tuple[int, ...]:
    """The shape of the panels of ``columns``, all groups together."""
    return (groups * panel_count(columns // groups), -(-depth // QUAD), PANEL, QUAD)


def pack_integers(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.pack_integers``, natively: models load while it runs."""
    transposed, (depth, columns) = call.flag_attr("transposed"), matrix_of(call)
    matrix = given(inputs, 0).reshape((columns, depth) if transposed else (depth, columns))
    if matrix.flags.f_contiguous:  # a transposed one that was turned is packed as it lies
        matrix, transposed = matrix.T, not transposed
    matrix = np.ascontiguousarray(matrix)
    panels, sums = outputs
    native.pack_integers(matrix, panels, sums, call.int_attr("groups"), transposed)()


def unpack_integers(panels: Array, depth: int, columns: int, groups: int = 1) -> Array:
    """The matrices that were packed: int8[groups, depth, columns / groups]."""
    parts = panels.reshape(groups, -1, panels.shape[1], PANEL, QUAD).transpose(0, 2, 4, 1, 3)
    wide = parts.reshape(groups, panels.shape[1] * QUAD, -1)
    return wide[:, :depth, : columns // groups]
