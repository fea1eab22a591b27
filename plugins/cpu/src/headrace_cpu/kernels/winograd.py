"""Which convolutions are computed by Winograd's algorithms, and the kernel that does it."""

from __future__ import annotations

import math
import os
from typing import NamedTuple

from headrace.device import Launch, OpCall
from headrace.errors import SettingError
from headrace.ops.window import conv_window
from headrace_cpu.extension import native
from headrace_cpu.kernels.native import Views
from headrace_cpu.kernels.product import ProductKernel

VARIABLE = "HEADRACE_CPU_WINOGRAD"
"""The largest tile that may be chosen: 0 for none, 2, or 4, which is what is taken without it."""

LARGEST = 4


class Pays(NamedTuple):
    """When Winograd's tiles pay for convolutions of so many channels."""

    channels: int
    """At least: those of the input or the output, whichever are fewer."""
    two: float
    """From how many tiles of 4x4 outputs on those of 2x2 do."""
    four: float
    """From how many of them on those of 4x4 do."""
    most_two: int
    """Percent of the multiplications of sums of all taps that 2x2 may need; it needs 44 at best."""


PAYS = (
    Pays(16, 4, 9, 55),
    Pays(32, 4, 4, 55),
    Pays(64, 4, 4, 55),
    Pays(128, 4, 9, 55),
    Pays(256, 4, 9, 60),
    Pays(512, 4, math.inf, 60),
)
"""Weights of 2x2 take 1.8 times the memory of plain ones, and those of 4x4 four times: a tile pays
where it is a fifth faster than each way that takes less. Measured by ``bench/winograd.py``, which
prints the numbers of tiles; but for 4x4 of 128 channels, which begins later, since it gains little
more than that before. With fewer than 16 outputs several positions are computed as columns of one
product instead.

Tiles that reach over the edge compute what nobody reads. What they waste is made up for on 7x7
outputs in tiles of 2x2, which need 58 percent, where there are many channels: with few, the
transforms are a larger part of the time.
"""

MOST_FOUR = 70
"""Percent of the multiplications of 2x2 that 4x4 may need; it needs 56 at best. On 10x10 and 14x14
outputs it needs more, and less than a fifth is left of the time that it saves, at times nothing.
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
    if weight.shape[1:-1] != (3, 3) or call.int_attr("groups") != 1 or x.shape[0] == 0:
        return None
    window = conv_window(call)
    if not window.strides == window.dilations == (1, 1):
        return None
    tiles = {
        tile: x.shape[0] * math.prod(-(-size // tile) for size in y.shape[1:3]) for tile in (2, 4)
    }
    channels = min(weight.shape[0], weight.shape[3])
    fitting = [row for row in PAYS if row.channels <= channels]
    if not fitting:
        return None
    pays = fitting[-1]
    products = {1: 9 * math.prod(y.shape[:3]), 2: 16 * tiles[2], 4: 36 * tiles[4]}
    if largest >= 4 and tiles[4] >= pays.four and 100 * products[4] <= MOST_FOUR * products[2]:
        return 4
    if largest >= 2 and tiles[4] >= pays.two and 100 * products[2] <= pays.most_two * products[1]:
        return 2
    return None


class WinogradKernel(ProductKernel):
    """``cpu.winograd_conv``: as the op says; y may be the addend's memory."""

    def _make(self, views: Views) -> Launch:
        x, panels, y = views.input(), views.input(1), views.output()
        tile, pads = self._call.int_attr("tile"), self._call.ints_attr("pads")[:2]
        return native.winograd_conv(x, panels, y, tile, pads, self._epilogue(views))
