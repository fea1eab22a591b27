"""What ops share that slide windows over space: their attributes, and how formulas say them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from headrace.ops.data_format import DATA_FORMAT
from headrace.ops.formula import Formula
from headrace.ops.schema import Attr, Tensor
from headrace.ops.window import Window

WINDOW_ATTRS = (
    Attr("strides", "ints", ()),
    Attr("dilations", "ints", ()),
    Attr("pads", "ints", ()),
    DATA_FORMAT,
)
"""One number for each spatial axis; ``pads`` has all beginnings and then all ends. Left empty they
are 1, 1 and 0. ``data_format`` says which axes are the spatial ones."""


def tap_tensors(
    f: Formula, x: Tensor, window: Window, windows: Sequence[int], fill: Tensor
) -> Iterator[Tensor]:
    """What each tap of ``window`` reads at every position, in row-major order of the taps.

    Args:
        f: the formula that the ops are added to.
        x: T[a, b, *spatial].
        window: the window; everything beyond x reads as ``fill``.
        windows: how many positions it takes on each axis.
        fill: one element of x's dtype.

    Yields:
        T[a, b, *windows].
    """
    axes = tuple(range(2, 2 + len(windows)))
    reach = [
        (count - 1) * stride + extent
        for count, stride, extent in zip(windows, window.strides, window.extents, strict=True)
    ]
    ends = [
        max(0, far - size - begin)
        for far, size, begin in zip(reach, x.spec.shape[2:], window.pads_begin, strict=True)
    ]
    padded = f.op("pad", x, fill, pads=(0, 0, *window.pads_begin, 0, 0, *ends))
    for tap in itertools.product(*map(range, window.kernel)):
        starts = [k * dilation for k, dilation in zip(tap, window.dilations, strict=True)]
        stops = [
            start + (count - 1) * stride + 1
            for start, count, stride in zip(starts, windows, window.strides, strict=True)
        ]
        yield f.op("slice", padded, starts=starts, ends=stops, axes=axes, steps=window.strides)
