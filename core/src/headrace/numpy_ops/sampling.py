"""Images that are read at computed places, and columns put together, in numpy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from headrace.numpy_ops.elementwise import wide
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.ops.sampling import CUBIC, FAR, TAPS
from headrace.ops.window import slide, window_of
from headrace.tensor_spec import Array


def _grid_sample(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, grid = wide(given(inputs, 0)), wide(given(inputs, 1))
    axes = x.ndim - 2
    # The grid names the last axis first.
    weighed = [_taps(call, grid[..., axes - 1 - axis], x.shape[2 + axis]) for axis in range(axes)]
    image = np.moveaxis(x, 1, -1)
    batch = np.arange(len(x)).reshape(-1, *(1,) * axes)
    total = np.zeros((*grid.shape[:-1], x.shape[1]), x.dtype)
    for choice in itertools.product(*weighed):
        weight = np.ones((), x.dtype)
        for _, each in choice:
            weight = weight * each
        total += image[(batch, *(at for at, _ in choice))] * weight[..., np.newaxis]
    outputs[0][...] = np.moveaxis(total, -1, 1)


def _taps(call: OpCall, unit: Array, size: int) -> list[tuple[Array, Array]]:
    """For each element that is read along an axis: its index, and what it weighs."""
    padding, is_aligned = call.str_attr("padding_mode"), call.flag_attr("align_corners")
    count = TAPS[call.str_attr("mode")]
    unit = np.clip(np.where(np.isnan(unit), -1, unit), -FAR, FAR)
    place = unit
    if call.flag_attr("normalized"):
        place = (unit + 1) * ((size - 1) / 2) if is_aligned else (unit + 1) * (size / 2) - 0.5
    if count < 4:
        place = _padded(place, size, padding, is_aligned)
    if count == 1:
        index, weights = np.round(place), [np.ones_like(place)]
    else:
        index = np.floor(place)
        weights = _linear(place - index) if count == 2 else _cubic(place - index)
    made = []
    for offset, weight in enumerate(weights, -1 if count == 4 else 0):
        at = index + offset
        at = _padded(at, size, padding, is_aligned) if count == 4 else at
        inside = np.clip(at, 0, size - 1)
        made.append(
            (inside.astype(np.int64), weight * (inside == at) if padding == "zeros" else weight)
        )
    return made


def _padded(place: Array, size: int, padding: str, is_aligned: bool) -> Array:
    """A place in the image for any place, unless what is outside is 0."""
    if padding == "zeros":
        return place
    low, span = (0.0, size - 1.0) if is_aligned else (-0.5, float(size))
    if padding == "reflection":
        away = np.abs(place - low)
        along = away - np.floor(away / (2 * span)) * (2 * span) if span else 0 * away
        place = np.minimum(along, 2 * span - along) + low
    clipped: Array = np.clip(place, 0, size - 1)
    return clipped


def _linear(rest: Array) -> list[Array]:
    return [1 - rest, rest]


def _cubic(rest: Array) -> list[Array]:
    return [_outer(rest + 1), _inner(rest), _inner(1 - rest), _outer(2 - rest)]


def _inner(t: Array) -> Array:
    return ((CUBIC + 2) * t - (CUBIC + 3)) * t * t + 1


def _outer(t: Array) -> Array:
    return ((CUBIC * t - 5 * CUBIC) * t + 8 * CUBIC) * t - 4 * CUBIC


def _col2im(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, image = wide(given(inputs, 0)), call.ints_attr("image")
    window = window_of(call, call.ints_attr("kernel"))
    counts = slide(call, window, image)
    channels = outputs[0].shape[1]
    columns = x.reshape(len(x), channels, math.prod(window.kernel), *counts)
    ends = zip(image, window.pads_begin, window.pads_end, strict=True)
    whole = np.zeros((len(x), channels, *(a + b + c for a, b, c in ends)), x.dtype)
    for number, tap in enumerate(np.ndindex(*window.kernel)):
        at = tuple(
            slice(k * dilation, k * dilation + (count - 1) * stride + 1, stride)
            for k, dilation, count, stride in zip(
                tap, window.dilations, counts, window.strides, strict=True
            )
        )
        whole[(slice(None), slice(None), *at)] += columns[:, :, number]
    inside = tuple(
        slice(pad, pad + size) for pad, size in zip(window.pads_begin, image, strict=True)
    )
    outputs[0][...] = whole[(slice(None), slice(None), *inside)]


FUNCTIONS: Mapping[str, NumpyFunction] = {"grid_sample": _grid_sample, "col2im": _col2im}
