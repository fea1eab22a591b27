"""Interpolation in space, on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.dtypes import ALL, NUMBERS
from headrace.ops.resize import COORDINATES
from headrace.tensor_spec import Array
from headrace.testing.arrays import normal
from headrace.testing.case import Case
from headrace.testing.run import check_case

_X = normal(1, 2, 4, 5)
_MODES = ("nearest", "linear", "cubic")
_ROI = (0.0, 0.0, 0.25, -0.2, 1.0, 1.0, 0.8, 1.3)


def _case(id: str, x: Array, sizes: tuple[int, ...], **attrs: object) -> Case:
    return Case(id, "resize", (x,), {"sizes": sizes, **attrs})


def _rule(coordinates: str) -> dict[str, object]:
    cropped = coordinates == "tf_crop_and_resize"
    return {"coordinates": coordinates, "roi": _ROI if cropped else ()}


_RULES = tuple(
    _case(f"{mode}-{rule}-{direction}", _X, sizes, mode=mode, **_rule(rule))
    for mode in _MODES
    for rule in COORDINATES
    for direction, sizes in (("up", (1, 2, 7, 12)), ("down", (1, 2, 3, 2)), ("to-1", (1, 2, 1, 1)))
)

_SCALES = tuple(
    _case(f"{mode}-{rule}-scales", _X, (1, 2, 9, 3), mode=mode, scales=(1, 1, 2.3, 0.7),
          **_rule(rule))
    for mode in _MODES
    for rule in COORDINATES
)  # fmt: skip

_ROUNDING = tuple(
    _case(f"{rounding}-{direction}", _X, (1, 2, 4, size), rounding=rounding, coordinates=rule)
    for rounding in ("prefer_floor", "prefer_ceil", "floor", "ceil")
    for rule, direction, size in (("asymmetric", "x3", 15), ("half_pixel", "halves", 10))
)

_ALMOST = tuple(
    # float32(0.6) is a little more than 0.6: the second element lies a little before 2.
    _case(f"{rounding}-almost-an-integer", _X, (1, 2, 4, 3), rounding=rounding,
          scales=(1, 1, 1, float(np.float32(0.6))))
    for rounding in ("floor", "ceil")
)  # fmt: skip

_OPTIONS = (
    _case("cubic-coefficient", _X, (1, 2, 6, 9), mode="cubic", cubic_coeff=-0.5),
    _case("cubic-exclude-outside", _X, (1, 2, 6, 9), mode="cubic", exclude_outside=True),
    _case("linear-exclude-outside", _X, (1, 2, 6, 9), mode="linear", exclude_outside=True),
    _case("extrapolation", _X, (1, 2, 5, 7), mode="linear", coordinates="tf_crop_and_resize",
          roi=_ROI, extrapolation=10.0),
    _case("crop-in-place", _X, (1, 2, 4, 5), mode="linear", coordinates="tf_crop_and_resize",
          roi=_ROI),
    *(
        _case(f"antialias-{mode}-{'excluding' if excluding else 'replicating'}",
              normal(1, 2, 9, 11), (1, 2, 4, 3), mode=mode, antialias=True,
              exclude_outside=excluding)
        for mode in ("linear", "cubic")
        for excluding in (False, True)
    ),
    _case("antialias-up", _X, (1, 2, 7, 9), mode="cubic", antialias=True),
    _case("antialias-up-and-down", _X, (1, 2, 7, 2), mode="linear", antialias=True),
)  # fmt: skip

_SHAPES = (
    _case("named-axes", _X, (7, 3), axes=(-1, 2), mode="linear", scales=(1.4, 0.75)),
    _case("named-crop", _X, (7,), axes=(3,), mode="linear", coordinates="tf_crop_and_resize",
          roi=(0.2, 1.1)),
    _case("crop-at-edge", normal(1, 2, 3, 6), (10,), axes=(3,), mode="nearest",
          coordinates="tf_crop_and_resize", extrapolation=7.0,
          roi=(float(np.float32(0.2)), float(np.float32(1.1)))),
    _case("as-it-is", _X, (1, 2, 4, 5)),
    _case("length-1", normal(1, 2, 1, 2), (1, 2, 2, 1), mode="linear",
          coordinates="align_corners"),
    _case("every-axis", normal(2, 3, 4), (3, 2, 5), mode="linear"),
    _case("rank-1", normal(4), (7,), mode="cubic"),
    _case("rank-5", normal(1, 1, 2, 3, 2), (1, 1, 3, 5, 4), mode="linear"),
    _case("rank-0", np.array(2, np.float32), ()),
    _case("empty", normal(0, 2, 4), (0, 2, 6), mode="linear"),
    _case("to-nothing", normal(1, 2, 4), (1, 2, 0), mode="linear"),
)  # fmt: skip

_ROWS = np.array([[1, 0, 1, 1], [0, 1, 0, 1]])
_STEEP = np.array([[10, 13, 20, 1], [0, 120, 0, 3]])
_DTYPES = tuple(
    _case(f"nearest-{dtype}", _ROWS.astype(dtype.numpy), (3, 7)) for dtype in sorted(ALL)
) + tuple(
    _case(f"{mode}-{dtype}", _STEEP.astype(dtype.numpy), (3, 9), mode=mode)
    for dtype in sorted(NUMBERS)
    for mode in ("linear", "cubic")
)

CASES: tuple[Case, ...] = _RULES + _SCALES + _ROUNDING + _ALMOST + _OPTIONS + _SHAPES + _DTYPES


@pytest.mark.parametrize("case", CASES, ids=str)
def test_resize(device: str, case: Case) -> None:
    """Elements come from where the coordinate rule looks, in every mode."""
    check_case(device, case)
