"""What a resampling reads: for each axis, a few elements of the input, and what they weigh.

Every mode is separable: along one axis, each output element is a weighted sum of a few input
elements. ``Taps`` holds them for one axis; they depend on shapes and attributes only.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from headrace.op_call import OpCall
from headrace.ops.resize_axes import ResampledAxis, resampled_axes
from headrace.tensor_spec import Array


class Taps(NamedTuple):
    """What one axis reads: the elements, what each weighs, and where it looks beyond the input.

    Attributes:
        sources: int64[size, taps].
        weights: float64[size, taps].
        outside: bool[size]; these elements are the extrapolation.
    """

    sources: Array
    weights: Array
    outside: Array


def resize_taps(call: OpCall) -> dict[int, Taps]:
    """By axis, what a ``resize`` reads along it; in the order in which axes are best done.

    Those that shrink most come first: the others then have less to do. Of several that grow alike
    the last one is first: it costs most, and has less to do before the others.
    """
    rules, shape = _Rules.of(call), call.input(0).shape

    def growth(part: ResampledAxis) -> tuple[float, int]:
        times = part.size / max(shape[part.axis], 1)
        return times, -part.axis if times > 1 else part.axis

    parts = sorted(resampled_axes(call), key=growth)
    return {part.axis: _axis_taps(part, rules) for part in parts}


class _Rules(NamedTuple):
    """The attributes that decide where every axis looks and how much each element weighs."""

    mode: str
    coordinates: str
    rounding: str
    cubic_coeff: float
    exclude_outside: bool
    antialias: bool

    @staticmethod
    def of(call: OpCall) -> _Rules:
        return _Rules(
            call.str_attr("mode"),
            call.str_attr("coordinates"),
            call.str_attr("rounding"),
            call.float_attr("cubic_coeff"),
            call.flag_attr("exclude_outside"),
            call.flag_attr("antialias"),
        )


@lru_cache(maxsize=256)
def _axis_taps(part: ResampledAxis, rules: _Rules) -> Taps:
    length = part.length
    places = _coordinates(part, rules.coordinates)
    if rules.mode == "nearest":
        sources = _round(places, rules.rounding)[:, None]
        weights = np.ones(sources.shape)
    else:
        shrink = min(part.scale, 1.0) if rules.antialias else 1.0
        radius = int(np.ceil((1 if rules.mode == "linear" else 2) / shrink))
        sources = np.floor(places).astype(np.int64)[:, None] + np.arange(1 - radius, 1 + radius)
        distances = np.abs(sources - places[:, None]) * shrink
        weights = (
            np.maximum(1 - distances, 0)
            if rules.mode == "linear"
            else _keys(distances, rules.cubic_coeff)
        )
        if rules.exclude_outside:
            inside = (sources >= 0) & (sources < length)
            # Far outside nothing would be left; there the edge is read after all.
            weights = np.where(inside | ~inside.any(axis=1, keepdims=True), weights, 0.0)
        weights /= weights.sum(axis=1, keepdims=True)
    cropped = rules.coordinates == "tf_crop_and_resize"
    slack = 1e-6 + 1e-7 * length  # roi is float32: what is at an edge but for that is inside
    outside = cropped & ((places < -slack) | (places > length - 1 + slack))
    return Taps(np.clip(sources, 0, max(length - 1, 0)), weights, outside)


def _coordinates(part: ResampledAxis, rule: str) -> Array:
    """float64[size]: where each output element looks into the input."""
    length, size, scale = part.length, part.size, part.scale
    i = np.arange(size, dtype=np.float64)
    if rule == "half_pixel_symmetric":
        return length / 2 * (1 - size / (scale * length)) + (i + 0.5) / scale - 0.5
    if rule == "half_pixel" or (rule == "pytorch_half_pixel" and size > 1):
        return (i + 0.5) / scale - 0.5
    if rule == "asymmetric":
        return i / scale
    if rule == "tf_half_pixel_for_nn":
        return (i + 0.5) / scale
    if rule == "tf_crop_and_resize":
        if size == 1:
            return np.array([0.5 * (part.begin + part.end) * (length - 1)])
        return (part.begin + i * ((part.end - part.begin) / (size - 1))) * (length - 1)
    return i * (length - 1) / max(size - 1, 1)  # align_corners, or pytorch_half_pixel of length 1


def _round(places: Array, rounding: str) -> Array:
    halves = np.round(places * 2) / 2
    places = np.where(np.abs(places - halves) <= 1e-6 + 1e-7 * np.abs(places), halves, places)
    rounded = {
        "prefer_floor": lambda: np.ceil(places - 0.5),
        "prefer_ceil": lambda: np.floor(places + 0.5),
        "floor": lambda: np.floor(places),
        "ceil": lambda: np.ceil(places),
    }[rounding]()
    return np.asarray(rounded).astype(np.int64)


def _keys(distance: Array, a: float) -> Array:
    """The cubic convolution kernel of Keys with parameter ``a``, for distances of at least 0."""
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = a * (((distance - 5) * distance + 8) * distance - 4)
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))
