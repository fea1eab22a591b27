"""Convolutions on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.dtypes import FLOATS
from headrace.testing.arrays import normal
from headrace.testing.case import Case, channels_last
from headrace.testing.run import check_case


def _conv(
    id: str, x: tuple[int, ...], weight: tuple[int, ...], *, bias: bool = False, **attrs: object
) -> Case:
    offset = normal(weight[0], seed=2) if bias else None
    return Case(id, "conv", (normal(*x), normal(*weight, seed=1), offset), attrs)


def _transposed(
    id: str, x: tuple[int, ...], weight: tuple[int, ...], *, bias: int = 0, **attrs: object
) -> Case:
    offset = normal(bias, seed=2) if bias else None
    return Case(id, "conv_transpose", (normal(*x), normal(*weight, seed=1), offset), attrs)


_CONVS = (
    _conv("plain", (1, 2, 5, 6), (3, 2, 3, 3)),
    _conv("bias", (2, 2, 5, 6), (3, 2, 3, 3), bias=True),
    _conv("pointwise", (2, 5, 3, 4), (4, 5, 1, 1), bias=True),
    _conv("pointwise-strided", (1, 3, 5, 6), (4, 3, 1, 1), strides=(2, 3), bias=True),
    _conv("pointwise-padded", (1, 3, 2, 3), (4, 3, 1, 1), pads=(1, 0, 0, 2), bias=True),
    _conv("strides", (1, 2, 9, 8), (3, 2, 3, 3), strides=(2, 3)),
    _conv("asymmetric-pads", (1, 2, 4, 5), (3, 2, 3, 3), pads=(0, 2, 1, 0)),
    _conv("dilations", (1, 2, 9, 9), (3, 2, 3, 2), dilations=(2, 3), pads=(1, 2, 3, 4)),
    _conv("everything", (2, 4, 9, 8), (6, 2, 3, 2), groups=2, bias=True,
          strides=(2, 1), dilations=(1, 3), pads=(2, 1, 0, 3)),
    _conv("groups", (1, 6, 4, 4), (9, 2, 3, 3), groups=3),
    _conv("groups-pointwise", (2, 4, 3, 3), (6, 2, 1, 1), groups=2, bias=True),
    _conv("depthwise", (2, 5, 6, 7), (5, 1, 3, 3), groups=5, pads=(1, 1, 1, 1), bias=True),
    _conv("depthwise-multiplier", (1, 3, 6, 7), (6, 1, 3, 3), groups=3, strides=(2, 2)),
    _conv("depthwise-dilated", (1, 3, 8, 9), (3, 1, 5, 3), groups=3, dilations=(1, 2)),
    _conv("kernel-larger-than-input", (1, 1, 2, 2), (1, 1, 5, 5), pads=(2, 2, 2, 2)),
    _conv("stride-larger-than-kernel", (1, 1, 7, 8), (2, 1, 1, 2), strides=(4, 3)),
    _conv("rank-1", (2, 3, 9), (4, 3, 3), strides=(2,), pads=(1, 2), bias=True),
    _conv("rank-1-depthwise", (1, 3, 9), (3, 1, 4), groups=3, dilations=(2,)),
    _conv("rank-3", (1, 2, 4, 5, 4), (3, 2, 2, 3, 2), strides=(1, 2, 1), pads=(0, 1, 1, 1, 0, 0)),
    _conv("rank-3-groups", (1, 4, 3, 3, 4), (4, 2, 2, 2, 2), groups=2, dilations=(1, 1, 2)),
    _conv("one-output", (1, 3, 3, 3), (2, 3, 3, 3), bias=True),
    _conv("empty-batch", (0, 2, 5, 5), (3, 2, 3, 3), bias=True),
    _conv("no-output-channels", (1, 2, 5, 5), (0, 2, 3, 3)),
    _conv("no-input-channels", (1, 0, 5, 5), (3, 0, 3, 3), bias=True),
)  # fmt: skip

_TRANSPOSED = (
    _transposed("plain", (1, 2, 3, 4), (2, 3, 3, 3)),
    _transposed("strides", (2, 2, 3, 4), (2, 3, 3, 3), strides=(2, 3), bias=3),
    _transposed("stride-larger-than-kernel", (1, 2, 3, 3), (2, 1, 2, 1), strides=(3, 4), bias=1),
    _transposed("asymmetric-pads", (1, 2, 3, 4), (2, 3, 3, 3), strides=(2, 2), pads=(0, 2, 1, 0)),
    _transposed("output-padding", (1, 1, 3, 3), (1, 2, 3, 3), strides=(3, 2), bias=2,
                output_padding=(2, 1)),
    _transposed("output-padding-that-taps-reach", (1, 1, 2, 2), (1, 2, 2, 2), strides=(2, 3),
                dilations=(2, 1), output_padding=(1, 2), pads=(0, 1, 1, 0)),
    _transposed("dilations", (1, 2, 3, 3), (2, 2, 2, 3), dilations=(3, 2), pads=(1, 1, 1, 1)),
    _transposed("groups", (2, 4, 3, 3), (4, 3, 2, 2), groups=2, strides=(2, 2), bias=6),
    _transposed("depthwise", (1, 3, 4, 4), (3, 1, 4, 4), groups=3, strides=(2, 2),
                pads=(1, 1, 1, 1)),
    _transposed("pointwise", (1, 3, 3, 4), (3, 5, 1, 1), bias=5),
    _transposed("rank-1", (2, 2, 5), (2, 3, 4), strides=(2,), pads=(1, 0), bias=3),
    _transposed("rank-3", (1, 2, 2, 3, 2), (2, 2, 2, 2, 3), strides=(2, 1, 2),
                output_padding=(1, 0, 0)),
    _transposed("empty-batch", (0, 2, 3, 3), (2, 3, 3, 3), bias=3),
)  # fmt: skip

_DTYPES = tuple(
    Case(
        f"{kind}{dtype}",
        op,
        tuple(
            normal(*shape, seed=seed).astype(dtype.numpy)
            for seed, shape in enumerate(((1, 4, 5, 5), shape, (channels,)))
        ),
        {"groups": groups, "strides": (2, 1), "pads": (1, 0, 0, 1)},
    )
    for dtype in sorted(FLOATS)
    for kind, op, groups, shape, channels in (
        ("", "conv", 1, (3, 4, 3, 3), 3),
        ("depthwise-", "conv", 4, (4, 1, 3, 3), 4),
        ("", "conv_transpose", 2, (4, 2, 3, 3), 4),
    )
)

_WIDE = Case(
    # 60000 + 60000 leaves the range of float16, and the whole sum does not.
    "float16-accumulates-wider",
    "conv",
    (
        np.full((1, 4, 1, 1), 60000, np.float16),
        np.array([1, 1, -1, -0.5], np.float16).reshape(1, 4, 1, 1),
        None,
    ),
)

_FIRST = (*_CONVS, *_TRANSPOSED, *_DTYPES, _WIDE)

CASES: tuple[Case, ...] = _FIRST + tuple(channels_last(case, images=2) for case in _FIRST)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_conv(device: str, case: Case) -> None:
    """Sums of products agree with the oracle for every geometry, grouping, format and dtype."""
    check_case(device, case)
