"""Images that are read at computed places, on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.dtypes import FLOATS, dtype_of
from headrace.tensor_spec import Array
from headrace.testing.case import Case
from headrace.testing.run import check_case


def _drawn(*shape: int) -> Array:
    return np.random.default_rng(7).integers(-9, 10, shape).astype(np.float32)


def _grid(*shape: int, reach: float = 1.5) -> Array:
    """Places in and around the image; sixteenths, so that it is no matter of rounding which."""
    steps = int(16 * reach)
    return np.random.default_rng(8).integers(-steps, steps + 1, shape).astype(np.float32) / 16


def _columns(name: str, x: Array, kernel: int, image: tuple[int, ...], **attrs: object) -> Case:
    return Case(name, "col2im", (x,), {"kernel": (kernel,) * len(image), "image": image, **attrs})


def _case(name: str, x: Array, grid: Array, **attrs: object) -> Case:
    return Case(name, "grid_sample", (x, grid), attrs)


_IMAGE, _POINTS = _drawn(2, 3, 4, 5), _grid(2, 3, 7, 2)
_PADDINGS = ("zeros", "border", "reflection")

CASES: tuple[Case, ...] = (
    *(
        _case(
            f"{mode}-{padding}" + "-aligned" * aligned,
            _IMAGE,
            _POINTS,
            mode=mode,
            padding_mode=padding,
            align_corners=aligned,
        )
        for mode in ("nearest", "linear", "cubic")
        for padding in _PADDINGS
        for aligned in (False, True)
    ),
    *(
        _case(f"far-{mode}-{padding}", _IMAGE, _grid(2, 2, 9, 2, reach=12),
              mode=mode, padding_mode=padding)
        for mode in ("nearest", "linear", "cubic")
        for padding in _PADDINGS
    ),
    *(
        _case(f"{axes}-axes-{mode}", _drawn(2, 2, *(3,) * axes), _grid(2, *(4,) * axes, axes),
              mode=mode)
        for axes in (1, 3)
        for mode in ("nearest", "linear", "cubic")
    ),
    *(
        _case(f"one-element-{padding}", _drawn(1, 2, 1, 1), _grid(1, 2, 3, 2),
              padding_mode=padding, align_corners=True)
        for padding in _PADDINGS
    ),
    *(
        _case(f"elements-{padding}", _IMAGE, _grid(2, 4, 5, 2, reach=6), padding_mode=padding,
              normalized=False)
        for padding in _PADDINGS
    ),
    *(
        _case(f"{number}-{mode}-{padding}", _IMAGE, np.full((2, 1, 3, 2), number, np.float32),
              mode=mode, padding_mode=padding)
        for mode in ("nearest", "linear", "cubic")
        for number, padding in (
            *((np.nan, padding) for padding in _PADDINGS),
            *((sign * np.inf, padding) for padding in ("zeros", "border") for sign in (1, -1)),
        )
    ),
    _case("some-nan", _IMAGE, np.where(_POINTS > 1, np.nan, _POINTS).astype(np.float32)),
    _case("many-points", _drawn(1, 2, 6, 7), _grid(1, 23, 41, 2)),
    _case("many-channels", _drawn(1, 37, 3, 3), _grid(1, 1, 2, 2)),
    _case("no-point", _IMAGE, np.zeros((2, 0, 4, 2), np.float32)),
    _case("no-channel", np.zeros((1, 0, 2, 2), np.float32), _grid(1, 2, 2, 2)),
    *(
        _case(f"{dtype}", *(a.astype(dtype_of(dtype).numpy) for a in (_IMAGE, _POINTS)))
        for dtype in sorted(map(str, FLOATS))
        if dtype != "float32"
    ),
    _columns("one-axis", _drawn(2, 6, 4), 2, (5,)),
    _columns("padded", _drawn(2, 27, 20), 3, (4, 5), pads=(1, 1, 1, 1)),
    _columns("apart", _drawn(1, 8, 6), 2, (5, 8), strides=(3, 3)),
    _columns("overhang", _drawn(1, 18, 2), 3, (4, 6), strides=(2, 2)),
    _columns("dilated", _drawn(2, 4, 36), 2, (5, 7), dilations=(1, 2), pads=(1, 0, 1, 1)),
    _columns("three-axes", _drawn(1, 16, 8), 2, (3, 3, 3)),
    _columns("no-channel", np.zeros((1, 0, 4), np.float32), 2, (3, 3)),
    _columns("no-image", np.zeros((0, 4, 4), np.float32), 2, (3, 3)),
    *(
        _columns(f"{dtype}", _drawn(1, 8, 4).astype(dtype_of(dtype).numpy), 2, (3, 3))
        for dtype in sorted(map(str, FLOATS))
        if dtype != "float32"
    ),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_sampling(device: str, case: Case) -> None:
    """An element is what the image is at its place; one of an image, what windows put there."""
    check_case(device, case)
