"""Elementwise functions that numpy lacks."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.device import Buffer, DeviceContext, Kernel, Launch, OpCall
from headrace_cpu.kernels.arrays import array_of


class Erf(Kernel):
    """``erf``: x: T[...], y: T[...], which may be the same memory. Needs no workspace."""

    def __init__(self, call: OpCall) -> None:
        self._call = call

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        """Make the views; the launch is one native call."""
        from headrace_cpu import _native

        x = array_of(inputs[0], self._call.inputs[0])
        y = array_of(outputs[0], self._call.outputs[0])

        def run() -> None:
            _native.erf(x, y)

        return run
