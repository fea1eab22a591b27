"""Recurrent layers with the usual activations, a whole sequence in one native call."""

from __future__ import annotations

import math
from collections.abc import Iterator

from headrace.device import KernelEntry, Launch, OpCall, dtypes
from headrace.ops.recurrent import activations, backwards
from headrace.tensor_spec import TensorSpec
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views

USUAL = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh")}
_LENGTHS, _H, _C, _PEEPHOLE = 4, 5, 6, 7


class RecurrentKernel(NativeKernel):
    """``lstm`` or ``gru``, as the ops say; workspace: packed weights, the gates of all steps."""

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        self._scratch: TensorSpec | None = None

    def workspace_bytes(self) -> int:
        """The packed weights of one direction, and its gates."""
        return self._workspace().nbytes

    def _workspace(self) -> TensorSpec:
        from headrace_cpu import _native

        if self._scratch is None:
            sides = (*self._call.input(0).shape, self._call.input(2).shape[2])
            floats = _native.recurrent_scratch(self._call.op, *sides)
            self._scratch = TensorSpec((floats,), "float32")
        return self._scratch

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        call, is_lstm = self._call, self._call.op == "lstm"
        x, w, r = (views.input(i) for i in range(3))
        y_h, y_c = (views.output(i) if i < call.output_count else None for i in (1, 2))
        return _native.recurrent(
            call.op,
            x,
            w,
            r,
            views.optional(3),
            views.optional(_H),
            views.optional(_C) if is_lstm else None,
            views.output(),
            y_h,
            y_c,
            views.scratch(self._workspace()),
            list(backwards(call)),
            not is_lstm and call.flag_attr("linear_before_reset"),
        )


def _is_usual(call: OpCall) -> bool:
    """Whether a call has nothing that the native layer lacks."""
    is_lstm = call.op == "lstm"
    if call.has_input(_LENGTHS) or call.float_attr("clip") != math.inf:
        return False
    if is_lstm and (call.flag_attr("input_forget") or call.has_input(_PEEPHOLE)):
        return False
    if 0 in (*call.outputs[0].shape, call.input(0).shape[2]):
        return False
    return all(
        tuple(function.name for function in activations(call, d)) == USUAL[call.op]
        for d in range(len(backwards(call)))
    )


def recurrent_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    usual = SomeCalls("the usual activations", dtypes("float32"), _is_usual)
    for op in USUAL:
        yield KernelEntry(tag, op, RecurrentKernel, usual)
