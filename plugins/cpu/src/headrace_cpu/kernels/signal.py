"""Spectra: one native call for all signals, or frames of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from headrace.device import KernelEntry, Launch, OpCall, dtypes
from headrace.tensor_spec import TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views

MOST_POINTS = 1 << 28
"""Squares of their number are turned, and are whole numbers of 64 bits."""


class Spectra(NativeKernel):
    """``dft`` and ``stft`` of float32. Workspace: that of a transform which threads share."""

    def workspace_bytes(self) -> int:
        """What one long transform needs."""
        return self._floats() * 4

    def _floats(self) -> int:
        call = self._call
        length, parts = call.int_attr("length"), call.input(0).shape[-1]
        return native.spectrum_floats(length, parts, self._is_inverse(), call.flag_attr("onesided"))

    def _is_inverse(self) -> bool:
        return self._call.op == "dft" and self._call.flag_attr("inverse")

    def _make(self, views: Views) -> Launch:
        call, x, y = self._call, views.input(), views.output()
        is_framed = call.op == "stft"
        if not is_framed:
            signals = math.prod(x.shape[:-2])
            x = x.reshape(signals, *x.shape[-2:])
            y = y.reshape(signals, 1, *y.shape[-2:])
        return native.spectrum(
            x,
            views.optional(1) if is_framed else None,
            views.scratch(TensorSpec((self._floats(),), call.input(0).dtype)),
            y,
            length=call.int_attr("length"),
            step=call.int_attr("step") if is_framed else 1,
            is_inverse=self._is_inverse(),
            is_onesided=call.flag_attr("onesided"),
        )


def _is_short(call: OpCall) -> bool:
    return call.int_attr("length") <= MOST_POINTS and call.outputs[0].elements > 0


def signal_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    short = SomeCalls(f"{MOST_POINTS} points at most", dtypes("float32"), _is_short)
    for op in ("dft", "stft"):
        yield KernelEntry(tag, op, Spectra, short)
