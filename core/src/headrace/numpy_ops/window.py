"""Windows over padded arrays, for the families that slide one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from headrace.dtypes import bfloat16, dtype_of, float16
from headrace.ops.window import Window
from headrace.tensor_spec import Array


def accumulator(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which sums of ``dtype`` are kept: float32 for the 16-bit floats."""
    return np.dtype(np.float32) if dtype_of(dtype) in (float16, bfloat16) else dtype


def taps(
    x: Array, window: Window, windows: Sequence[int], fill: float
) -> Iterator[tuple[tuple[int, ...], Array]]:
    """For each tap of ``window``, its place in the kernel and what it reads at every position.

    Args:
        x: T[..., *spatial].
        window: the window; what lies beyond x, also beyond the end padding, reads as ``fill``.
        windows: how many positions the window takes on each axis.
        fill: what padding reads as.

    Yields:
        The tap and T[..., *windows], a view.
    """
    lead = x.ndim - len(windows)
    spatial = x.shape[lead:]
    # The padding that taps reach: less than asked for where the window does not fit once more,
    # more where it overhangs.
    begins = window.pads_begin
    ends = [
        max(0, (count - 1) * stride + extent - size - begin)
        for count, stride, extent, size, begin in zip(
            windows, window.strides, window.extents, spatial, begins, strict=True
        )
    ]
    padded = np.full(
        x.shape[:lead]
        + tuple(b + size + e for b, size, e in zip(begins, spatial, ends, strict=True)),
        fill,
        x.dtype,
    )
    middle: list[Any] = [slice(b, b + size) for b, size in zip(begins, spatial, strict=True)]
    padded[..., *middle] = x
    for tap in itertools.product(*map(range, window.kernel)):
        places: list[Any] = [
            slice(k * dilation, k * dilation + (count - 1) * stride + 1, stride)
            for k, dilation, count, stride in zip(
                tap, window.dilations, windows, window.strides, strict=True
            )
        ]
        yield tap, padded[..., *places]
