"""Recurrent layers: a state that is carried along a sequence.

All but ``lstm_integer`` take ``x`` ``[steps, batch, features]``, and weights with one leading entry
for each direction: ``w`` ``[directions, gates * hidden, features]``, ``r`` ``[directions, gates *
hidden, hidden]`` and ``b`` ``[directions, 2 * gates * hidden]``, the biases of the products with w
and then with r. They give ``y`` ``[steps, directions, batch, hidden]``, the state after each step,
and ``y_h`` ``[directions, batch, hidden]``, the state at the end. ``f``, ``g`` and ``h`` in the
formulas are the ``activations`` of a direction, in order; ``@`` is the product with a transposed
matrix.

``sequence_lens`` says how many steps each sequence of the batch has: y is 0 beyond them, and a
sequence without steps ends in a state of 0. A length outside ``0..steps`` is an error when the op
runs. Going backwards starts at the last step that a sequence has. States of half floats are kept
in float32 from step to step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

from headrace.dtypes import FLOATS, float32, int8, int32, uint8
from headrace.errors import OpError
from headrace.light_tuple import NamedTuple
from headrace.op_call import OpCall
from headrace.ops import recurrent_steps
from headrace.ops.failure import fail
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, Output, SbpSignature, Tensor
from headrace.sbp import Broadcast, Sbp, Split
from headrace.tensor_spec import TensorSpec

ACTIVATIONS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "affine": (1.0, 0.0),  # alpha * x + beta
        "elu": (1.0, 0.0),
        "hard_sigmoid": (0.2, 0.5),
        "leaky_relu": (0.01, 0.0),
        "relu": (0.0, 0.0),
        "scaled_tanh": (1.0, 1.0),  # alpha * tanh(beta * x)
        "sigmoid": (0.0, 0.0),
        "softplus": (0.0, 0.0),
        "softsign": (0.0, 0.0),
        "tanh": (0.0, 0.0),
        "thresholded_relu": (1.0, 0.0),
    }
)
"""The functions that ``activations`` may name, with their usual alpha and beta."""

_BATCH_AXIS = {"x": 1, "sequence_lens": 0, "initial_h": 1, "initial_c": 1}


class Activation(NamedTuple):
    """One function of a direction; those without parameters ignore them."""

    name: str
    alpha: float
    beta: float


class Recurrent(Op):
    """Base of the recurrent layers.

    Attributes:
        direction: ``bidirectional`` goes forward with the first and in reverse with the second
            entry of all weights.
        activations: names out of ``ACTIVATIONS``, as many as ``usual`` for each direction; empty
            means ``usual``.
        alphas, betas: one number for each activation; empty means the usual ones.
        clip: bounds what the activations of the gates are given to ``-clip..clip``.
    """

    gates: ClassVar[int]
    usual: ClassVar[tuple[str, ...]]

    inputs: ClassVar[tuple[Input, ...]] = (
        Input("x", FLOATS),
        Input("w", FLOATS),
        Input("r", FLOATS),
        Input("b", FLOATS, optional=True),
        Input("sequence_lens", frozenset({int32}), group="", optional=True),
        Input("initial_h", FLOATS, optional=True),
    )
    outputs: ClassVar[tuple[Output, ...]] = (Output("y"), Output("y_h", optional=True))
    attrs: ClassVar[tuple[Attr, ...]] = (
        Attr("direction", "str", "forward", ("forward", "reverse", "bidirectional")),
        Attr("activations", "strs", ()),
        Attr("alphas", "floats", ()),
        Attr("betas", "floats", ()),
        Attr("clip", "float", math.inf),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, r = call.input(0), call.input(2)
        if x.rank != 3 or r.rank != 3:
            fail(call, f"x is {x} and r is {r}; x is [steps, batch, features] and r has rank 3")
        steps, batch, features = x.shape
        directions, hidden = len(backwards(call)), r.shape[2]
        rows = cls.gates * hidden
        wanted = {
            "w": (directions, rows, features),
            "r": (directions, rows, hidden),
            "b": (directions, 2 * rows),
            "sequence_lens": (batch,),
            "initial_h": (directions, batch, hidden),
            "initial_c": (directions, batch, hidden),
            "peephole": (directions, 3 * hidden),
        }
        for argument, spec in zip(cls.inputs[1:], call.inputs[1:], strict=True):
            if spec is not None and spec.shape != wanted[argument.name]:
                fail(
                    call,
                    f"{argument.name} is {spec}; with x {x}, {directions} directions and a "
                    f"hidden size of {hidden} it must be {list(wanted[argument.name])}",
                )
        check_activations(call, directions * len(cls.usual))
        state = x.with_shape((directions, batch, hidden))
        return (x.with_shape((steps, *state.shape)), state, state)[: call.output_count]

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        if call.input(0).shape[1] < 2:  # sequences do not know each other; steps and gates do
            return ()
        axes = [_BATCH_AXIS.get(argument.name) for argument in cls.inputs]
        inputs: list[Sbp] = [Broadcast() if axis is None else Split(axis) for axis in axes]
        outputs = (Split(2), Split(1), Split(1))
        return (SbpSignature(tuple(inputs), outputs[: call.output_count]),)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        functions = [activations(call, d) for d in range(len(backwards(call)))]
        return recurrent_steps.decompose(
            call, inputs, builder, backwards(call), cls.gates, functions
        )


class Rnn(Recurrent):
    """``H = f(x @ w + H @ r + b)``."""

    name = "rnn"
    gates = 1
    usual = ("tanh",)


class Gru(Recurrent):
    """Gates z, r, h: ``H = (1 - z) * h + z * H`` with ``z = f(x @ wz + H @ rz + bz)``, r alike.

    ``h = g(x @ wh + (r * H) @ rh + bh)``; with ``linear_before_reset``, the bias of the product
    with r inside the brackets: ``h = g(x @ wh + wbh + r * (H @ rh + rbh))``.
    """

    name = "gru"
    gates = 3
    usual = ("sigmoid", "tanh")
    attrs = (*Recurrent.attrs, Attr("linear_before_reset", "bool", False))


class Lstm(Recurrent):
    """Gates i, o, f, c: ``C = f * C + i * c`` and ``H = o * h(C)``; ``y_c`` is C at the end.

    ``i = f(x @ wi + H @ ri + pi * C + bi)``, f alike, ``c = g(x @ wc + H @ rc + bc)``, and
    ``o = f(x @ wo + H @ ro + po * C + bo)`` with the new C. ``peephole`` holds pi, po and pf.
    With ``input_forget``, f is ``1 - i``.
    """

    name = "lstm"
    gates = 4
    usual = ("sigmoid", "tanh", "tanh")
    inputs = (
        *Recurrent.inputs,
        Input("initial_c", FLOATS, optional=True),
        Input("peephole", FLOATS, optional=True),
    )
    outputs = (*Recurrent.outputs, Output("y_c", optional=True))
    attrs = (*Recurrent.attrs, Attr("input_forget", "bool", False))


class LstmInteger(Op):
    """``lstm`` of one direction, whose products with H are of 8-bit integers.

    Before each step H, all sequences together, is quantized as ``dynamic_quantize`` has it; its
    product with ``r - r_zero_point`` is summed in int32, and a sum is worth the scale of H times
    ``r_scale``. What x brings is the caller's part:

    drive: float32[steps, batch, 4 * hidden], the products of x and w, and the biases;
    r: int8[4 * hidden, hidden] or uint8; r_scale and r_zero_point: of one element or [4 * hidden];
    states [batch, hidden]; peephole [3 * hidden]; y: [steps, batch, hidden].
    """

    name = "lstm_integer"
    usual: ClassVar[tuple[str, ...]] = Lstm.usual
    inputs = (
        Input("drive", frozenset({float32})),
        Input("r", frozenset({int8, uint8}), group="R"),
        Input("r_scale", frozenset({float32})),
        Input("r_zero_point", frozenset({int8, uint8}), group="R", optional=True),
        Input("initial_h", frozenset({float32}), optional=True),
        Input("initial_c", frozenset({float32}), optional=True),
        Input("peephole", frozenset({float32}), optional=True),
    )
    outputs = Lstm.outputs
    attrs = (
        Attr("direction", "str", "forward", ("forward", "reverse")),
        *Recurrent.attrs[1:],
        Attr("input_forget", "bool", False),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        drive, r = call.input(0), call.input(1)
        if drive.rank != 3 or r.rank != 2 or not drive.elements:
            fail(call, f"drive is {drive} and r is {r}; they need three axes, not empty, and two")
        steps, batch, rows = drive.shape
        hidden = r.shape[1]
        if rows != 4 * hidden or r.shape[0] != rows:
            fail(call, f"drive is {drive} and r is {r}; they need 4 gates for each of {hidden}")
        of_rows: set[tuple[int, ...]] = {(), (1,), (rows,)}
        state: set[tuple[int, ...]] = {(batch, hidden)}
        peephole: set[tuple[int, ...]] = {(3 * hidden,)}
        wanted = (of_rows, of_rows, state, state, peephole)
        for argument, spec, shapes in zip(cls.inputs[2:], call.inputs[2:], wanted, strict=True):
            if spec is not None and spec.shape not in shapes:
                texts = " or ".join(str(list(shape)) for shape in sorted(shapes))
                fail(call, f"{argument.name} is {spec}; its shape must be {texts}")
        check_activations(call, len(cls.usual))
        end = drive.with_shape((batch, hidden))
        return (drive.with_shape((steps, batch, hidden)), end, end)[: call.output_count]

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        (backward,) = backwards(call)
        return recurrent_steps.decompose_integer(
            call, inputs, builder, backward, activations(call, 0)
        )


def backwards(call: OpCall) -> tuple[bool, ...]:
    """For each direction, in the order of the weights: does it begin at the last step?"""
    return {"forward": (False,), "reverse": (True,)}.get(call.str_attr("direction"), (False, True))


def activations(call: OpCall, direction: int) -> tuple[Activation, ...]:
    """The functions of one direction, ``f`` first."""
    usual = _USUAL[call.op]
    names = strings(call, "activations") or usual * len(backwards(call))
    alphas = call.floats_attr("alphas") or tuple(ACTIVATIONS[name][0] for name in names)
    betas = call.floats_attr("betas") or tuple(ACTIVATIONS[name][1] for name in names)
    every = [Activation(*parts) for parts in zip(names, alphas, betas, strict=True)]
    first = direction * len(usual)
    return tuple(every[first : first + len(usual)])


def check_activations(call: OpCall, count: int) -> None:
    """Raise unless what a call says of its ``count`` functions, and clip, can be."""
    for name in ("activations", "alphas", "betas"):
        values = call.attrs[name]
        assert isinstance(values, tuple), name
        if len(values) not in (0, count):
            fail(call, f"{name} {values} must be {count} values, or none", OpError)
    for name in strings(call, "activations"):
        if name not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            fail(call, f"activation {name!r} is not one of {known}", OpError)
    if not call.float_attr("clip") > 0:
        fail(call, f"clip={call.float_attr('clip')} must be greater than 0", OpError)


def strings(call: OpCall, name: str) -> tuple[str, ...]:
    """The list-of-strings attribute ``name``."""
    value = call.attrs[name]
    assert isinstance(value, tuple), name
    return tuple(map(str, value))


OPS: tuple[type[Op], ...] = (Rnn, Gru, Lstm, LstmInteger)

_USUAL = {op.name: op.usual for op in (Rnn, Gru, Lstm, LstmInteger)}
