"""Which convolutions are computed by Winograd's algorithms, and the kernel that does it."""

from __future__ import annotations

import math
import os

from headrace.device import Launch, OpCall
from headrace.errors import SettingError
from headrace.ops.window import conv_window
from headrace_cpu.extension import native
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
    (256, 4, math.inf),
    (512, 9, math.inf),
)
"""Least channels, and from how many tiles of 4x4 outputs on tiles of 2x2 and of 4x4 pay.

Channels are those of the input or the output, whichever are fewer. Weights of 2x2 take 1.8 times
the memory of plain ones, and those of 4x4 four times: a tile pays where it is a fifth faster than
each way that takes less. Measured by ``bench/winograd.py``, which prints these lines; but for those
of 128 and 512 channels, which begin later, since they gain little more than that before. With fewer
than 16 outputs several positions are computed as columns of one product instead.
"""

MOST_PRODUCTS = {2: 55, 4: 70}
"""Percent of the multiplications of the next smaller way that a tile may need: of sums of all taps
for 2x2, which needs 44 at best, and of 2x2 for 4x4, which needs 56.

Tiles that reach over the edge compute what nobody reads. The table is measured where none does; on
7x7 outputs in tiles of 2x2, and on 10x10 and 14x14 in tiles of 4x4, less than a fifth is left of
the time that they save, at times nothing.
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
    fitting = [row for row in BEGINS if row[0] <= channels]
    if not fitting:
        return None
    _, two, four = fitting[-1]
    products = {1: 9 * math.prod(y.shape[:3]), 2: 16 * tiles[2], 4: 36 * tiles[4]}
    if largest >= 4 and tiles[4] >= four and 100 * products[4] <= MOST_PRODUCTS[4] * products[2]:
        return 4
    pays = tiles[4] >= two and 100 * products[2] <= MOST_PRODUCTS[2] * products[1]
    return 2 if largest >= 2 and pays else None


class WinogradKernel(ProductKernel):
    """``cpu.winograd_conv``: as the op says; y may be the addend's memory."""

    def _make(self, views: Views) -> Launch:
        x, panels, y = views.input(), views.input(1), views.output()
        tile, pads = self._call.int_attr("tile"), self._call.ints_attr("pads")[:2]
        return native.winograd_conv(x, panels, y, tile, pads, self._epilogue(views))
