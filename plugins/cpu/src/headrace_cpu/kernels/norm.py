"""Normalisations, each one native call instead of one pass over memory for each term."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.device import Buffer, DeviceContext, Kernel, Launch, OpCall
from headrace_cpu.kernels.arrays import array_of
from headrace_cpu.kernels.match import FLOATS, SomeCalls


def _agree(call: OpCall) -> bool:
    return call.input(1).dtype == call.input(0).dtype


one_dtype = SomeCalls("all inputs of one dtype", FLOATS, _agree)


class Normalization(Kernel):
    """``normalization``: x: T[...], four vectors T[length of axis], y: T[...], which may be x.

    Needs no workspace.
    """

    def __init__(self, call: OpCall) -> None:
        self._call = call

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        """Make the views and the native launch."""
        from headrace_cpu import _native

        call = self._call
        x, mean, variance, gamma, beta = map(array_of, inputs, call.inputs)
        y = array_of(outputs[0], call.outputs[0])
        axis, epsilon = call.int_attr("axis") % x.ndim, call.float_attr("epsilon")
        return _native.normalization(x, mean, variance, gamma, beta, y, axis, epsilon)


class InstanceNorm(Kernel):
    """``instance_norm``: x: T[n, c, *spatial], gamma and beta: T[c], y: as x.

    Needs no workspace.
    """

    def __init__(self, call: OpCall) -> None:
        self._call = call

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        """Make the views and the native launch."""
        from headrace_cpu import _native

        call = self._call
        x, gamma, beta = map(array_of, inputs, call.inputs)
        y, epsilon = array_of(outputs[0], call.outputs[0]), call.float_attr("epsilon")
        return _native.instance_norm(x, gamma, beta, y, epsilon)
