"""cpu.lstm, cpu.gru and cpu.rnn: recurrent layers with the usual activations and packed weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from headrace.dtypes import int32
from headrace.numpy_ops import evaluate
from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr, Input, Op, Output, get_op, make_call
from headrace.ops.failure import fail
from headrace.ops.recurrent import backwards
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.ops.epilogue import FLOAT32
from headrace_cpu.ops.pack import unpack
from headrace_cpu.ops.places import PANEL, panel_count

B, LENGTHS, H, C = 3, 4, 5, 6
"""Places among the inputs, after x and the weights."""


class PackedRecurrent(Op):
    """A layer of core whose weights ``w`` and ``r`` are packed, transposed, by ``cpu.pack``.

    In groups: w, of one for each direction; r of as many, or, for a GRU, one for each gate of each
    direction. x, b, the lengths, the states and what is made are as in the op of core.
    """

    gates: ClassVar[int]
    r_groups: ClassVar[int]
    """Groups of r for each direction."""

    inputs: ClassVar[tuple[Input, ...]] = (
        Input("x", FLOAT32),
        Input("w", FLOAT32),
        Input("r", FLOAT32),
        Input("b", FLOAT32, optional=True),
        Input("sequence_lens", frozenset({int32}), group="", optional=True),
        Input("initial_h", FLOAT32, optional=True),
    )
    outputs: ClassVar[tuple[Output, ...]] = (Output("y"), Output("y_h", optional=True))
    attrs: ClassVar[tuple[Attr, ...]] = (
        Attr("hidden", "int"),
        Attr("direction", "str", "forward", ("forward", "reverse", "bidirectional")),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, hidden = call.input(0), call.int_attr("hidden")
        if x.rank != 3:
            fail(call, f"x is {x}; it must be [steps, batch, features]")
        steps, batch, features = x.shape
        directions = len(backwards(call))
        state = (directions, batch, hidden)
        wanted = (
            *panels_of(cls, features, hidden, directions),
            (directions, 2 * cls.gates * hidden),
            (batch,),
        )
        for argument, spec, shape in zip(
            cls.inputs[1:], call.inputs[1:], (*wanted, state, state), strict=False
        ):
            if spec is not None and spec.shape != shape:
                fail(call, f"{argument.name} is {spec}; it must be {list(shape)}")
        made = (x.with_shape((steps, *state)), x.with_shape(state), x.with_shape(state))
        return made[: call.output_count]


class PackedLstm(PackedRecurrent):
    """``lstm``."""

    name = "cpu.lstm"
    gates = 4
    r_groups = 1
    inputs = (*PackedRecurrent.inputs, Input("initial_c", FLOAT32, optional=True))
    outputs = (*PackedRecurrent.outputs, Output("y_c", optional=True))


class PackedGru(PackedRecurrent):
    """``gru``."""

    name = "cpu.gru"
    gates = 3
    r_groups = 3
    attrs = (*PackedRecurrent.attrs, Attr("linear_before_reset", "bool", False))


class PackedRnn(PackedRecurrent):
    """``rnn``, of one activation for all directions."""

    name = "cpu.rnn"
    gates = 1
    r_groups = 1
    attrs = (*PackedRecurrent.attrs, Attr("activation", "str", "tanh", ("tanh", "relu")))


LAYERS = {"lstm": PackedLstm, "gru": PackedGru, "rnn": PackedRnn}
"""Op of core -> the layer with packed weights."""


def panels_of(
    layer: type[PackedRecurrent], features: int, hidden: int, directions: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of w and r as they are packed."""
    rows = layer.gates * hidden
    of_r = layer.r_groups * panel_count(rows // layer.r_groups)
    return (
        (directions * panel_count(rows), features, PANEL),
        (directions * of_r, hidden, PANEL),
    )


def recurrent(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute a packed layer: as the op of core, of the weights as they were."""
    layer = LAYERS[call.op.removeprefix("cpu.")]
    hidden, directions = call.int_attr("hidden"), len(backwards(call))
    rows = layer.gates * hidden
    w = unpack(given(inputs, 1), directions * rows, directions).swapaxes(1, 2)
    groups = directions * layer.r_groups
    r = unpack(given(inputs, 2), directions * rows, groups).swapaxes(1, 2)
    plain = [inputs[0], w, r.reshape(directions, rows, hidden), *inputs[B:]]
    op = get_op(call.op.removeprefix("cpu."))
    attrs = {name: call.attrs[name] for name in call.attrs if name not in ("hidden", "activation")}
    if layer is PackedRnn:
        attrs["activations"] = (call.str_attr("activation"),) * directions
    specs = [None if array is None else TensorSpec.of(array) for array in plain]
    of_core = make_call(op, call.name, specs, attrs, outputs=call.output_count)
    padded = plain + [None] * (len(of_core.inputs) - len(plain))
    for made, y in zip(evaluate(of_core, padded), outputs, strict=True):
        y[...] = made


def weight_groups(layer: type[PackedRecurrent], directions: int) -> tuple[int, int]:
    """In how many groups w and r are packed."""
    return directions, directions * layer.r_groups


def flat_shape(weight: TensorSpec) -> tuple[int, int]:
    """Weights of all directions, one below the other."""
    return math.prod(weight.shape[:2]), weight.shape[2]
