"""Recurrent layers with the usual activations, a whole sequence in one native call."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from headrace.device import KernelEntry, Launch, OpCall, dtypes
from headrace.dtypes import float32
from headrace.ops.recurrent import activations, backwards
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views
from headrace_cpu.ops.recurrent import (
    LAYERS,
    LENGTHS,
    B,
    C,
    H,
    flat_shape,
    panels_of,
    weight_groups,
)
from headrace_cpu.ops.recurrent_integer import (
    INITIAL_C,
    INITIAL_H,
    PANELS,
    SCALE,
    SUMS,
    ZEROS,
    PackedLstmInteger,
)

if TYPE_CHECKING:
    from headrace_cpu._native import Launch as NativeLaunch
    from headrace_cpu._native import RecurrentState, RecurrentWeights

USUAL: Mapping[str, frozenset[tuple[str, ...]]] = {
    "lstm": frozenset({("sigmoid", "tanh", "tanh")}),
    "gru": frozenset({("sigmoid", "tanh")}),
    "rnn": frozenset({("tanh",), ("relu",)}),
}
"""Op -> the activations of all directions that the extension has."""
_PEEPHOLE = 7
_INTEGER_PEEPHOLE = 6


class RecurrentKernel(NativeKernel):
    """A packed layer, as its op says; workspace: the gates of all steps."""

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        self._kind = call.op.removeprefix("cpu.")
        self._scratch: TensorSpec | None = None

    def workspace_bytes(self) -> int:
        """The gates of one direction."""
        return self._gates().nbytes

    def _hidden(self) -> int:
        return self._call.int_attr("hidden")

    def _is_relu(self) -> bool:
        return self._kind == "rnn" and self._call.str_attr("activation") == "relu"

    def _gates(self) -> TensorSpec:
        if self._scratch is None:
            sides = (*self._call.input(0).shape, self._hidden())
            floats = native.recurrent_scratch(self._kind, *sides)
            self._scratch = TensorSpec((floats,), float32)
        return self._scratch

    def _make(self, views: Views) -> Launch:
        weights = native.RecurrentWeights(views.input(1), views.input(2), views.optional(B))
        begin = native.RecurrentState(
            views.optional(H), views.optional(C) if self._kind == "lstm" else None
        )
        return self._layer(views, weights, begin, views.scratch(self._gates()))

    def _layer(
        self,
        views: Views,
        weights: RecurrentWeights,
        begin: RecurrentState,
        gates: Array,
    ) -> NativeLaunch:
        call = self._call
        ends = (views.output(i) if i < call.output_count else None for i in (1, 2))
        return native.recurrent(
            f"{self._kind}_relu" if self._is_relu() else self._kind,
            views.input(),
            weights,
            begin,
            views.output(),
            native.RecurrentState(*ends),
            gates,
            list(backwards(call)),
            self._kind == "gru" and call.flag_attr("linear_before_reset"),
            views.optional(LENGTHS),
        )


class PackingRecurrent(RecurrentKernel):
    """A layer of core, whose weights are packed in each call: what variables are.

    Workspace: the gates of all steps, and the packed weights.
    """

    def workspace_bytes(self) -> int:
        """The gates of one direction, and the packed weights."""
        return self._whole().nbytes

    def _hidden(self) -> int:
        return self._call.input(2).shape[2]

    def _is_relu(self) -> bool:
        return activations(self._call, 0)[0].name == "relu"

    def _panels(self) -> tuple[tuple[int, ...], ...]:
        features, directions = self._call.input(0).shape[2], len(backwards(self._call))
        return panels_of(LAYERS[self._kind], features, self._hidden(), directions)

    def _whole(self) -> TensorSpec:
        floats = self._gates().elements + sum(map(math.prod, self._panels()))
        return TensorSpec((floats,), float32)

    def _make(self, views: Views) -> Launch:
        call, shapes, whole = self._call, self._panels(), views.scratch(self._whole())
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        w_panels, r_panels, gates = np.split(whole, ends)
        w_panels, r_panels = w_panels.reshape(shapes[0]), r_panels.reshape(shapes[1])
        groups = weight_groups(LAYERS[self._kind], len(backwards(call)))
        w, r = (views.input(index).reshape(flat_shape(call.input(index))) for index in (1, 2))
        weights = native.RecurrentWeights(w_panels, r_panels, views.optional(B))
        begin = native.RecurrentState(
            views.optional(H), views.optional(C) if self._kind == "lstm" else None
        )
        return native.Sequence(
            [
                native.pack(w, w_panels, groups[0], True),
                native.pack(r, r_panels, groups[1], True),
                self._layer(views, weights, begin, gates),
            ]
        )


def _is_usual(call: OpCall) -> bool:
    """Whether a call has nothing that the native layer lacks."""
    is_lstm = call.op == "lstm"
    if call.float_attr("clip") != math.inf:
        return False
    if is_lstm and (call.flag_attr("input_forget") or call.has_input(_PEEPHOLE)):
        return False
    if 0 in (*call.outputs[0].shape, call.input(0).shape[2]):
        return False
    named = {
        tuple(function.name for function in activations(call, d))
        for d in range(len(backwards(call)))
    }
    return len(named) == 1 and named <= USUAL[call.op]


class IntegerLstmKernel(NativeKernel):
    """``cpu.lstm_integer``, as the op says; workspace: the gates and H of one step."""

    def workspace_bytes(self) -> int:
        """What one step makes."""
        return self._step().nbytes

    def _step(self) -> TensorSpec:
        _, batch, rows = self._call.input(0).shape
        return TensorSpec((native.integer_lstm_scratch(batch, rows // 4),), float32)

    def _make(self, views: Views) -> Launch:
        call = self._call
        scale = views.input(SCALE).reshape(-1)
        weights = native.IntegerRecurrentWeights(
            views.input(PANELS), views.input(SUMS), scale, views.optional(ZEROS)
        )
        begin = native.RecurrentState(views.optional(INITIAL_H), views.optional(INITIAL_C))
        ends = (views.output(i) if i < call.output_count else None for i in (1, 2))
        (backward,) = backwards(call)
        return native.integer_lstm(
            views.input(), weights, begin, views.output(), native.RecurrentState(*ends),
            views.scratch(self._step()), backward,
        )  # fmt: skip


def _is_usual_integer(call: OpCall) -> bool:
    own = call.float_attr("clip") == math.inf and not call.flag_attr("input_forget")
    functions = tuple(function.name for function in activations(call, 0))
    return own and not call.has_input(_INTEGER_PEEPHOLE) and functions in USUAL["lstm"]


usual_integer_layers = SomeCalls("the usual activations", dtypes("float32"), _is_usual_integer)
"""Layers with products of bytes that the extension computes, when their weights are packed."""
usual_layers = SomeCalls("the usual activations", dtypes("float32"), _is_usual)
"""Layers that the extension computes."""


def recurrent_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    for op, layer in LAYERS.items():
        yield KernelEntry(tag, op, PackingRecurrent, usual_layers)
        yield KernelEntry(tag, layer.name, RecurrentKernel)
    yield KernelEntry(tag, PackedLstmInteger.name, IntegerLstmKernel)
