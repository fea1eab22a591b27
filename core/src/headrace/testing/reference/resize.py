"""Interpolation in space: the oracle, one element at a time, in exact fractions where it can."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from headrace.dtypes import dtype_of
from headrace.tensor_spec import Array

_Neighbours = list[tuple[int, Fraction]]


def _resize(
    x: Array,
    *,
    sizes: tuple[int, ...],
    axes: tuple[int, ...],
    scales: tuple[float, ...],
    roi: tuple[float, ...],
    mode: str,
    coordinates: str,
    rounding: str,
    cubic_coeff: float,
    exclude_outside: bool,
    extrapolation: float,
    antialias: bool,
) -> Array:
    plans: list[list[_Neighbours | None]] = []
    named = [axis % x.ndim for axis in axes] or list(range(x.ndim))
    made = list(x.shape)
    for axis, length in enumerate(x.shape):
        number = named.index(axis) if axis in named else -1
        size = sizes[number] if axis in named else length
        scale = Fraction(size, max(length, 1)) if length or size else Fraction(1)
        begin, end = 0.0, 1.0
        if axis in named and scales:
            scale = Fraction(scales[number])
        if axis in named and roi:
            begin, end = roi[number], roi[number + len(sizes)]
        made[axis] = size
        if length == size and scale == 1 and (begin, end) == (0, 1):
            plans.append([[(i, Fraction(1))] for i in range(size)])
            continue
        plan: list[_Neighbours | None] = []
        for i in range(size):
            crop = (Fraction(begin), Fraction(end))
            at = _look(coordinates, i, length, size, scale, crop)
            slack = Fraction("1e-6") + Fraction("1e-7") * length  # roi is float32
            if coordinates == "tf_crop_and_resize" and not -slack <= at <= length - 1 + slack:
                plan.append(None)
            elif mode == "nearest":
                plan.append([(_clamp(_nearest(at, rounding), length), Fraction(1))])
            else:
                stretch = min(scale, Fraction(1)) if antialias else Fraction(1)
                shape = _triangle if mode == "linear" else _cubic(Fraction(cubic_coeff))
                plan.append(_weigh(at, length, stretch, shape, exclude_outside))
        plans.append(plan)
    y = np.empty(made, x.dtype)
    for target in np.ndindex(*made):
        around = [plan[i] for plan, i in zip(plans, target, strict=True)]
        y[target] = _mix(x, around, extrapolation, copied=mode == "nearest")
    return y


def _look(
    rule: str, i: int, length: int, size: int, scale: Fraction, crop: tuple[Fraction, Fraction]
) -> Fraction:
    half = Fraction(1, 2)
    if rule == "align_corners":
        return Fraction(i * (length - 1), size - 1) if size > 1 else Fraction(0)
    if rule == "asymmetric":
        return i / scale
    if rule == "tf_half_pixel_for_nn":
        return (i + half) / scale
    if rule == "pytorch_half_pixel" and size == 1:
        return Fraction(0)
    if rule == "tf_crop_and_resize":
        if size == 1:
            return half * (crop[0] + crop[1]) * (length - 1)
        return (crop[0] + i * (crop[1] - crop[0]) / (size - 1)) * (length - 1)
    at = (i + half) / scale - half
    if rule == "half_pixel_symmetric":
        at += Fraction(length, 2) * (1 - Fraction(size) / (scale * length))
    return at


def _nearest(at: Fraction, rounding: str) -> int:
    half = Fraction(math.floor(2 * at + Fraction(1, 2)), 2)
    if abs(at - half) <= Fraction("1e-6") + Fraction("1e-7") * abs(at):
        at = half
    low = math.floor(at)
    if rounding == "floor":
        return low
    if rounding == "ceil":
        return math.ceil(at)
    if at - low == Fraction(1, 2):
        return low if rounding == "prefer_floor" else low + 1
    return low if at - low < Fraction(1, 2) else low + 1


def _weigh(
    at: Fraction,
    length: int,
    stretch: Fraction,
    shape: Callable[[Fraction], Fraction],
    exclude_outside: bool,
) -> _Neighbours:
    """The inputs around ``at`` with weights that add up to 1."""
    reach = math.ceil(2 / stretch) + 1
    near = [
        (k, shape(abs(k - at) * stretch))
        for k in range(math.floor(at) - reach, math.ceil(at) + reach + 1)
    ]
    near = [(k, weight) for k, weight in near if weight]
    inside = [(k, weight) for k, weight in near if 0 <= k < length]
    if exclude_outside and inside:
        near = inside
    total = sum(weight for _, weight in near)
    return [(_clamp(k, length), weight / total) for k, weight in near]


def _triangle(distance: Fraction) -> Fraction:
    return max(1 - distance, Fraction(0))


def _cubic(a: Fraction) -> Callable[[Fraction], Fraction]:
    def shape(d: Fraction) -> Fraction:
        if d <= 1:
            return (a + 2) * d**3 - (a + 3) * d**2 + 1
        if d < 2:
            return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
        return Fraction(0)

    return shape


def _clamp(k: int, length: int) -> int:
    return min(max(k, 0), length - 1)


def _mix(x: Array, around: list[_Neighbours | None], extrapolation: float, copied: bool) -> Any:
    known = [axis for axis in around if axis is not None]
    if len(known) < len(around):
        return extrapolation
    if copied:
        return x[tuple(axis[0][0] for axis in known)]
    exact = not dtype_of(x.dtype).is_float
    terms: list[Any] = []
    for corner in itertools.product(*known):
        weight = math.prod((w for _, w in corner), start=Fraction(1))
        value = x[tuple(k for k, _ in corner)]
        terms.append(int(value) * weight if exact else float(value) * float(weight))
    if not exact:
        return math.fsum(terms)
    info = np.iinfo(x.dtype)
    return min(max(math.trunc(sum(terms)), int(info.min)), int(info.max))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"resize": _resize}
