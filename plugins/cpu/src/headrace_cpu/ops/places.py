"""Where products with packed weights have what, for kernels, which need no class of an op."""

from __future__ import annotations

from headrace.op_call import OpCall
from headrace.ops.window import Window, window_of

PANEL = 16
"""Columns of a panel, on every machine."""

BIAS, ADDEND = 2, 3
"""Places among the inputs, after the left side and the packed weights."""

SCALES, ZEROS = 4, 5
"""Places among the inputs, of a ``cpu.block_matmul``, after those that all products have."""


def panel_count(columns: int) -> int:
    """Panels that hold ``columns``."""
    return -(-columns // PANEL)


def packed_window(call: OpCall) -> Window:
    """The window of a ``cpu.conv`` or ``cpu.depthwise_conv``."""
    return window_of(call, call.ints_attr("kernel"))
