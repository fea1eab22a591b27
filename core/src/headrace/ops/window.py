"""The geometry of windows that slide over space, once for convolutions and pools.

Images have one to three spatial axes. Tap ``k`` of output
position ``o`` reads input position ``o * stride + k * dilation - pad_begin`` on each axis.
"""

from __future__ import annotations

from functools import lru_cache

from headrace.light_tuple import NamedTuple
from headrace.op_call import OpCall
from headrace.ops.channels import is_last, spatial_of
from headrace.ops.failure import fail

MAX_SPATIAL_RANK = 3

MOST = 2**31 - 1
"""Strides, dilations, pads and taps of an axis are no larger: devices count them in 32 bits."""


class Window(NamedTuple):
    """The attributes of a sliding window, complete: one number for each spatial axis.

    ``extents`` are the input positions that it spans, gaps of dilation included.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads_begin: tuple[int, ...]
    pads_end: tuple[int, ...]
    extents: tuple[int, ...]


def window_of(call: OpCall, kernel: tuple[int, ...]) -> Window:
    """The window of ``call`` with taps ``kernel``, from its ``WINDOW_ATTRS``.

    Raises:
        ShapeError: an attribute has the wrong length or a number out of range.
    """
    strides, dilations = call.ints_attr("strides"), call.ints_attr("dilations")
    try:
        return _window(kernel, strides, dilations, call.ints_attr("pads"))
    except ValueError as wrong:
        fail(call, str(wrong))


@lru_cache(maxsize=1024)
def _window(
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
) -> Window:
    """Remembered: nets have few windows, and whoever looks at a call asks for its own."""
    rank = len(kernel)
    pads = _numbers("pads", pads, 2 * rank, 0, lowest=0)
    if rank and min(kernel) < 1:
        raise ValueError(f"kernel {kernel} has an axis without taps; each must be at least 1")
    if rank and max(kernel) > MOST:
        raise ValueError(f"kernel {kernel} has a number above {MOST}")
    strides = _numbers("strides", strides, rank, 1, lowest=1)
    dilations = _numbers("dilations", dilations, rank, 1, lowest=1)
    extents = tuple([(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)])
    return Window(kernel, strides, dilations, pads[:rank], pads[rank:], extents)


def _numbers(
    name: str, values: tuple[int, ...], count: int, default: int, *, lowest: int
) -> tuple[int, ...]:
    if not values:
        return (default,) * count
    if len(values) != count:
        raise ValueError(f"{name} {values} has {len(values)} numbers; this input needs {count}")
    if min(values) < lowest:
        raise ValueError(f"{name} {values} has a number below {lowest}")
    if max(values) > MOST:
        raise ValueError(f"{name} {values} has a number above {MOST}")
    return values


def conv_window(call: OpCall) -> Window:
    """The window of a ``conv`` or ``conv_transpose``; its taps are those of the weight."""
    return window_of(call, spatial_of(call, call.input(1).shape))


def pool_window(call: OpCall) -> Window:
    """The window of a ``max_pool`` or ``avg_pool``."""
    return window_of(call, call.ints_attr("kernel"))


def spatial_shape(call: OpCall) -> tuple[int, ...]:
    """The spatial part of the first input's shape.

    Raises:
        ShapeError: it has no, or more than three, spatial axes.
    """
    x = call.input(0)
    if not 3 <= x.rank <= 2 + MAX_SPATIAL_RANK:
        axes = "[n, *spatial, c]" if is_last(call) else "[n, c, *spatial]"
        fail(call, f"x is {x}; it must be {axes} with 1 to {MAX_SPATIAL_RANK} of them")
    return spatial_of(call, x.shape)


def slide(
    call: OpCall, window: Window, spatial: tuple[int, ...], *, ceil_mode: bool = False
) -> tuple[int, ...]:
    """How often the window fits on each axis.

    With ``ceil_mode`` one more window may overhang the end, if it begins before the end padding.

    Raises:
        ShapeError: it does not fit at all.
    """
    result = []
    axes = zip(
        spatial, window.pads_begin, window.pads_end, window.strides, window.extents, strict=True
    )
    for axis, (size, begin, end, stride, extent) in enumerate(axes):
        left = size + begin + end - extent
        count = (-(-left // stride) if ceil_mode else left // stride) + 1
        if ceil_mode and (count - 1) * stride >= size + begin:
            count -= 1
        if count < 1:
            fail(
                call,
                f"on spatial axis {axis} the window spans {extent} (kernel "
                f"{window.kernel[axis]}, dilation {window.dilations[axis]}) but the input has "
                f"{size} + {begin + end} of padding; pad more or take a smaller kernel",
            )
        result.append(count)
    return tuple(result)
