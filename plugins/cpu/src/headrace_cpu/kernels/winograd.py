"""Which convolutions are computed by Winograd's algorithms, and the kernel that does it."""

from __future__ import annotations

import math
import os

from headrace.device import Launch, OpCall
from headrace.errors import SettingError
from headrace.ops.conv import conv_window
from headrace_cpu.kernels.native import Views
from headrace_cpu.kernels.product import ProductKernel

VARIABLE = "HEADRACE_CPU_WINOGRAD"
"""The largest tile that may be chosen: 0 for none, 2, or 4, which is what is taken without it."""

LARGEST = 4

BEGINS: tuple[tuple[int, float, float], ...] = (
    (16, 4, 9),
    (32, 4, 4),
    (64, 4, 4),
    (128, 4, 9),
    (256, 4, 36),
    (512, 9, math.inf),
)
"""Least channels, and from how many tiles of 4x4 outputs on tiles of 2x2 and of 4x4 pay.

Channels are those of the input or the output, whichever are fewer. Measured against sums of all
taps by ``bench/winograd.py``, which prints these lines; but for the last two, which begin later:
the weights of 4x4 are four times the plain ones, and what they gain there is little for that. With
fewer than 16 outputs several positions are computed as columns of one product instead.
"""


def largest_tile() -> int:
    """What ``HEADRACE_CPU_WINOGRAD`` allows.

    Raises:
        SettingError: it says something else than 0, 2 or 4.
    """
    wanted = os.environ.get(VARIABLE) or str(LARGEST)
    if wanted not in ("0", "2", "4"):
        raise SettingError(VARIABLE, wanted, "0, 2 or 4")
    return int(wanted)


def tile_for(call: OpCall, largest: int) -> int | None:
    """The tile for a ``conv`` of float32 whose channels are last; None for sums of all taps.

    It depends on shapes and attributes alone, so that equal jobs give equal plans.
    """
    x, weight, y = call.input(0), call.input(1), call.outputs[0]
    window = conv_window(call)
    plain = window.strides == window.dilations == (1, 1) and call.int_attr("groups") == 1
    if window.kernel != (3, 3) or not plain or x.shape[0] == 0:
        return None
    tiles = x.shape[0] * math.prod(-(-size // 4) for size in y.shape[1:3])
    channels = min(weight.shape[0], weight.shape[3])
    fitting = [row for row in BEGINS if row[0] <= channels]
    if not fitting:
        return None
    _, two, four = fitting[-1]
    if largest >= 4 and tiles >= four:
        return 4
    return 2 if largest >= 2 and tiles >= two else None


class WinogradKernel(ProductKernel):
    """``cpu.winograd_conv``: as the op says; y may be the addend's memory."""

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        call = self._call
        pads = call.ints_attr("pads")[:2]
        return _native.winograd_conv(
            *self._arrays(views), call.int_attr("tile"), pads, *self._epilogue()
        )
