"""Products of batches of matrices of bytes, and what follows them: cpu.integer_batch_matmul."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from headrace.dtypes import int32
from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr, Input
from headrace.ops.failure import fail
from headrace.ops.shapes import broadcast
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.ops.integer import (
    SUMS,
    WEIGHT_ZEROS,
    IntegerProduct,
    finish_sums,
    made_of,
    without_zero,
)
from headrace_cpu.ops.pack_integers import BYTES

MATRICES = 1
"""Their place among the inputs, where other products have panels."""


class IntegerBatchMatmul(IntegerProduct):
    """``x[..., m, depth]`` times ``matrices[..., depth, columns]``, of which neither is packed.

    Leading axes broadcast; with ``transpose_b`` the matrices are [..., columns, depth]. Panels are
    the matrices, and there are no sums; the zero points of these are bytes as they are: one, or one
    for each column.
    """

    name = "cpu.integer_batch_matmul"
    inputs: ClassVar[tuple[Input, ...]] = tuple(
        {
            MATRICES: Input("matrices", BYTES, group="B"),
            SUMS: Input("sums", frozenset({int32}), group="", optional=True),
            WEIGHT_ZEROS: Input("matrices_zero", BYTES, group="B", optional=True),
        }.get(place, declared)
        for place, declared in enumerate(IntegerProduct.inputs)
    )
    attrs: ClassVar[tuple[Attr, ...]] = (*IntegerProduct.attrs, Attr("transpose_b", "bool", False))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, matrices = call.input(0), call.input(MATRICES)
        if min(x.rank, matrices.rank) < 2:
            fail(call, f"x is {x} and matrices are {matrices}; they must have rows and columns")
        sides = matrices.shape[-2:]
        depth, columns = reversed(sides) if call.flag_attr("transpose_b") else sides
        if (x.shape[-1], call.int_attr("columns")) != (depth, columns):
            fail(call, f"matrices are {matrices} for {call.int_attr('columns')} columns of x {x}")
        batch = broadcast(call, x.shape[:-2], matrices.shape[:-2])
        return made_of(call, (*batch, x.shape[-2], columns), zeros={1, columns})


def integer_batch_matmul(
    call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]
) -> None:
    """Compute ``cpu.integer_batch_matmul``: exactly, in doubles."""
    matrices, zeros = given(inputs, MATRICES).astype(np.float64), inputs[WEIGHT_ZEROS]
    if call.flag_attr("transpose_b"):
        matrices = matrices.swapaxes(-1, -2)
    if zeros is not None:
        matrices = matrices - zeros.reshape(-1)
    finish_sums(call, np.matmul(without_zero(inputs), matrices), inputs, outputs[0])
