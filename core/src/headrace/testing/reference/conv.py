"""Convolutions: the oracle, one product at a time, summed in float64."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from headrace.tensor_spec import Array
from headrace.testing.reference.data_format import either_format


def _conv(
    x: Array,
    weight: Array,
    bias: Array | None,
    *,
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    groups: int,
) -> Array:
    rank = x.ndim - 2
    out = []
    for axis, size in enumerate(x.shape[2:]):
        span = (weight.shape[2 + axis] - 1) * (dilations or (1,) * rank)[axis] + 1
        begin, end = (pads or (0,) * 2 * rank)[axis::rank]
        out.append((size + begin + end - span) // (strides or (1,) * rank)[axis] + 1)
    y = np.zeros((x.shape[0], weight.shape[0], *out), np.float64)
    wide, kernels = x.astype(np.float64), weight.astype(np.float64)
    per_group = weight.shape[0] // groups
    for n, m in np.ndindex(*y.shape[:2]):
        first = m // per_group * weight.shape[1]
        for place in np.ndindex(*out):
            for tap, source in _reads(place, weight.shape[2:], strides, dilations, pads):
                if all(0 <= at < size for at, size in zip(source, x.shape[2:], strict=True)):
                    for c in range(weight.shape[1]):
                        product = kernels[(m, c, *tap)] * wide[(n, first + c, *source)]
                        y[(n, m, *place)] += product
            if bias is not None:
                y[(n, m, *place)] += float(bias[m])
    return y.astype(x.dtype)


def _conv_transpose(
    x: Array,
    weight: Array,
    bias: Array | None,
    *,
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    output_padding: tuple[int, ...],
    groups: int,
) -> Array:
    rank = x.ndim - 2
    out = []
    for axis, size in enumerate(x.shape[2:]):
        span = (weight.shape[2 + axis] - 1) * (dilations or (1,) * rank)[axis] + 1
        begin, end = (pads or (0,) * 2 * rank)[axis::rank]
        extra = (output_padding or (0,) * rank)[axis]
        out.append((size - 1) * (strides or (1,) * rank)[axis] + span + extra - begin - end)
    per_group = weight.shape[1]
    y = np.zeros((x.shape[0], per_group * groups, *out), np.float64)
    if bias is not None:
        for m in range(y.shape[1]):
            y[:, m] = float(bias[m])
    wide, kernels = x.astype(np.float64), weight.astype(np.float64)
    for n, c in np.ndindex(*x.shape[:2]):
        first = c // (x.shape[1] // groups) * per_group
        for place in np.ndindex(*x.shape[2:]):
            # What a convolution at `place` would read is here where its value is added.
            for tap, target in _reads(place, weight.shape[2:], strides, dilations, pads):
                if all(0 <= at < size for at, size in zip(target, out, strict=True)):
                    for m in range(per_group):
                        product = wide[(n, c, *place)] * kernels[(c, m, *tap)]
                        y[(n, first + m, *target)] += product
    return y.astype(x.dtype)


def _reads(
    place: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Each tap, and the position under it when the window stands at ``place``."""
    for tap in itertools.product(*(range(count) for count in kernel)):
        source = []
        for axis, (at, k) in enumerate(zip(place, tap, strict=True)):
            stride = strides[axis] if strides else 1
            dilation = dilations[axis] if dilations else 1
            source.append(at * stride + k * dilation - (pads[axis] if pads else 0))
        yield tap, tuple(source)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "conv": either_format(_conv, images=2),
    "conv_transpose": either_format(_conv_transpose, images=2),
}
