"""Recurrent layers with the usual activations, a whole sequence in one native call."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from headrace.device import Buffer, DeviceContext, Kernel, KernelEntry, Launch, OpCall, dtypes
from headrace.ops.recurrent import activations, backwards
from headrace.tensor_spec import TensorSpec
from headrace_cpu.kernels.arrays import array_of, optional_array
from headrace_cpu.kernels.match import SomeCalls

USUAL = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh")}
_LENGTHS, _H, _C, _PEEPHOLE = 4, 5, 6, 7


class RecurrentKernel(Kernel):
    """``lstm`` or ``gru``, as the ops say; workspace: packed weights, the gates of all steps."""

    def __init__(self, call: OpCall) -> None:
        self._call = call
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

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        """Make the views and the native launch."""
        from headrace_cpu import _native

        call, is_lstm = self._call, self._call.op == "lstm"
        x, w, r = (array_of(inputs[index], call.inputs[index]) for index in range(3))
        y, y_h, y_c = (
            array_of(outputs[index], call.outputs[index]) if index < len(outputs) else None
            for index in range(3)
        )
        assert y is not None
        return _native.recurrent(
            call.op,
            x,
            w,
            r,
            optional_array(inputs, call.inputs, 3),
            optional_array(inputs, call.inputs, _H),
            optional_array(inputs, call.inputs, _C) if is_lstm else None,
            y,
            y_h,
            y_c,
            array_of(workspace, self._workspace()),
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
