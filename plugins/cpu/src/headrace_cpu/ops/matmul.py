"""cpu.matmul: a product with a packed matrix, and what follows it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops.failure import fail
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.ops.epilogue import WEIGHTS, Product, check_epilogue, finish, product_inputs
from headrace_cpu.ops.pack import unpack
from headrace_cpu.ops.places import PANEL, panel_count


class PackedMatmul(Product):
    """``x[..., depth]`` times packed ``[depth, columns]``: float32[..., columns]."""

    name = "cpu.matmul"
    inputs = product_inputs(WEIGHTS)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, columns = call.input(0), call.int_attr("columns")
        if x.rank < 1:
            fail(call, f"x is {x}; it must have an axis")
        panels = (panel_count(columns), x.shape[-1], PANEL)
        if call.input(1).shape != panels:
            fail(call, f"panels are {call.input(1)}; they must be {list(panels)}")
        made = (*x.shape[:-1], columns)
        check_epilogue(call, made)
        return (x.with_shape(made),)


def matmul(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.matmul``."""
    weight = unpack(given(inputs, 1).astype(np.float32), call.int_attr("columns"))[0]
    finish(call, np.matmul(given(inputs, 0), weight), inputs[2], inputs[3], outputs[0])
