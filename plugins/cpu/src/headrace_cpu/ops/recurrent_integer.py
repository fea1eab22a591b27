"""cpu.lstm_integer: the layer of core with the usual activations and packed weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.dtypes import int8, int32
from headrace.numpy_ops import evaluate
from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr, Input, Op, get_op, make_call
from headrace.ops.failure import fail
from headrace.ops.recurrent import LstmInteger
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.ops.epilogue import FLOAT32
from headrace_cpu.ops.pack_integers import panels_shape, unpack_integers

PANELS, SUMS, SCALE, ZEROS, INITIAL_H, INITIAL_C = range(1, 7)
"""Places among the inputs, after what drives the gates."""


class PackedLstmInteger(Op):
    """``lstm_integer`` whose weights r are packed, transposed, by ``cpu.pack_integers``.

    zeros: int32[4 * hidden], -128 to 127, for the weights as they are packed. The others are as in
    core.
    """

    name = "cpu.lstm_integer"
    inputs = (
        Input("drive", FLOAT32),
        Input("panels", frozenset({int8}), group=""),
        Input("sums", frozenset({int32}), group=""),
        Input("scale", FLOAT32),
        Input("zeros", frozenset({int32}), group="", optional=True),
        Input("initial_h", FLOAT32, optional=True),
        Input("initial_c", FLOAT32, optional=True),
    )
    outputs = LstmInteger.outputs
    attrs = (Attr("direction", "str", "forward", ("forward", "reverse")),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        drive = call.input(0)
        if drive.rank != 3 or drive.shape[2] % 4 or not drive.elements:
            fail(call, f"drive is {drive}; it must be [steps, batch, 4 * hidden], and not empty")
        steps, batch, rows = drive.shape
        state = (batch, rows // 4)
        wanted: tuple[set[tuple[int, ...]], ...] = (
            {panels_shape(rows // 4, rows)}, {(rows,)}, {(), (1,), (rows,)}, {(rows,)}, {state},
            {state},
        )  # fmt: skip
        for argument, spec, shapes in zip(cls.inputs[1:], call.inputs[1:], wanted, strict=True):
            if spec is not None and spec.shape not in shapes:
                fail(call, f"{argument.name} is {spec}; its shape may be {sorted(shapes)}")
        made = (drive.with_shape((steps, *state)), drive.with_shape(state), drive.with_shape(state))
        return made[: call.output_count]


def lstm_integer(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.lstm_integer``: as the op of core, of numbers as they were packed."""
    drive, zeros = given(inputs, 0), inputs[ZEROS]
    rows = drive.shape[2]
    (weights,) = unpack_integers(given(inputs, PANELS), rows // 4, rows)
    zero = None if zeros is None else zeros.astype(np.int8)
    arrays = [drive, weights.T, inputs[SCALE], zero, inputs[INITIAL_H], inputs[INITIAL_C], None]
    specs = [None if array is None else TensorSpec.of(array) for array in arrays]
    of_core = make_call(
        get_op("lstm_integer"), call.name, specs, call.attrs, outputs=call.output_count
    )
    for made, y in zip(evaluate(of_core, arrays), outputs, strict=True):
        y[...] = made
