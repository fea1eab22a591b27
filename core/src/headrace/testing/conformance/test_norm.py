"""Normalisations, on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.dtypes import FLOATS
from headrace.tensor_spec import Array
from headrace.testing.arrays import normal
from headrace.testing.case import Case, channels_last
from headrace.testing.run import check_case


def _statistics(channels: int) -> tuple[Array, ...]:
    """mean, variance, gamma, beta."""
    mean, variance, gamma, beta = (normal(channels, seed=seed) for seed in range(1, 5))
    return mean, variance**2, gamma, beta


def _affine(channels: int) -> tuple[Array, Array]:
    return normal(channels, seed=1), normal(channels, seed=2)


_X = normal(2, 6, 3, 4)
# A mean that is large beside the deviation: the mean of squares minus the square of the mean has
# no correct digit left in float32.
_FAR = (np.arange(48).reshape(2, 6, 4) % 7 + 30000.5).astype(np.float32)
_OF_FAR = 2e-3  # float32 holds such a mean to no better than 1e-3
_CONSTANT = np.full((1, 2, 5), 3, np.float32)

_BATCH = (
    Case("plain", "normalization", (_X, *_statistics(6))),
    Case("epsilon", "normalization", (_X, *_statistics(6)), {"epsilon": 0.5}),
    Case("last-axis", "normalization", (_X, *_statistics(4)), {"axis": -1}),
    Case("first-axis", "normalization", (_X, *_statistics(2)), {"axis": 0}),
    Case("rank-2", "normalization", (_X[:, :, 0, 0], *_statistics(6))),
    Case("rank-5", "normalization", (normal(1, 2, 2, 3, 2), *_statistics(2))),
    Case("empty", "normalization", (normal(0, 6, 3), *_statistics(6))),
    Case("variance-zero", "normalization", (
        np.array([[[1, 2, -3]]], np.float32), *np.array([[1], [0], [1.5], [0.25]], np.float32)
    )),
    Case("large-mean", "normalization", (
        _FAR, *np.array([[30000.5] * 6, *[[1] * 6] * 3], np.float32)
    )),
)  # fmt: skip

_INSTANCE = (
    Case("plain", "instance_norm", (_X, *_affine(6))),
    Case("epsilon", "instance_norm", (_X, *_affine(6)), {"epsilon": 0.5}),
    Case("rank-3", "instance_norm", (normal(2, 3, 10), *_affine(3))),
    Case("rank-5", "instance_norm", (normal(1, 2, 2, 3, 2), *_affine(2))),
    Case("large-mean", "instance_norm", (_FAR, *_affine(6)), atol=_OF_FAR),
    Case("constant", "instance_norm", (_CONSTANT, *_affine(2))),
    Case("one-element", "instance_norm", (normal(2, 3, 1, 1), *_affine(3))),
    Case("empty-batch", "instance_norm", (normal(0, 3, 4), *_affine(3))),
)

_GROUP = (
    Case("plain", "group_norm", (_X, *_affine(6)), {"groups": 3}),
    Case("one-group", "group_norm", (_X, *_affine(6)), {"groups": 1}),
    Case("a-group-for-each-channel", "group_norm", (_X, *_affine(6)), {"groups": 6}),
    Case("rank-2", "group_norm", (_X[:, :, 0, 0], *_affine(6)), {"groups": 2, "epsilon": 0.1}),
    Case("large-mean", "group_norm", (_FAR, *_affine(6)), {"groups": 2}, atol=_OF_FAR),
    Case("empty-batch", "group_norm", (normal(0, 4, 3), *_affine(4)), {"groups": 2}),
)


def _layer(
    id: str, x: Array, scale: Array | None, bias: Array | None, *, outputs: int = 3, axis: int = -1
) -> Case:
    return Case(id, "layer_norm", (x, scale, bias), {"axis": axis}, outputs)


_LAYER = (
    _layer("plain", _X, *_affine(4)),
    _layer("one-output", _X, *_affine(4), outputs=1),
    _layer("two-outputs", _X, *_affine(4), outputs=2),
    _layer("no-scale", _X, None, normal(4)),
    _layer("no-bias", _X, normal(4), None),
    _layer("bare", _X, None, None, outputs=1),
    _layer("middle-axis", _X, normal(3, 4), normal(3, 4, seed=1), axis=2),
    _layer("axis-0", _X, normal(2, 6, 3, 4, seed=1), None, axis=0),
    _layer("negative-axis", _X, normal(6, 3, 4), None, axis=-3),
    _layer("broadcast-scale", _X, normal(3, 1), normal(1), axis=2),
    _layer("scale-of-every-element", _X, normal(2, 6, 3, 4, seed=1), normal(6, 1, 4)),
    _layer("rank-1", normal(8), *_affine(8)),
    Case("large-mean", "layer_norm", (_FAR, *_affine(4)), {}, 3, atol=_OF_FAR),
    # A mean that float32 holds exactly: what remains is the variance.
    Case("large-exact-mean", "layer_norm", (_FAR[:1, :1, :3], None, None), {}, 3),
    _layer("constant", _CONSTANT, *_affine(5)),
    _layer("empty", normal(0, 4), *_affine(4)),
    Case("epsilon", "layer_norm", (_X, None, None), {"epsilon": 0.5}, 3),
)

_LRN = (
    Case("plain", "lrn", (normal(2, 7, 3, 2),), {"size": 3, "alpha": 0.5}),
    Case("even-size", "lrn", (normal(2, 7, 3, 2),), {"size": 4, "alpha": 0.5}),
    Case("size-1", "lrn", (normal(2, 3, 3),), {"size": 1, "alpha": 0.5}),
    Case("wider-than-the-channels", "lrn", (normal(2, 3, 3),), {"size": 9, "alpha": 2.0}),
    Case("everything", "lrn", (normal(1, 5, 2, 2),), {
        "size": 5, "alpha": 0.3, "beta": 0.5, "bias": 2.0}),
    Case("rank-2", "lrn", (normal(2, 7),), {"size": 3}),
    Case("empty", "lrn", (normal(0, 7, 2),), {"size": 3}),
)  # fmt: skip

_DTYPES = tuple(
    Case(f"{dtype}", op, tuple(array.astype(dtype.numpy) for array in inputs), attrs)
    for dtype in sorted(FLOATS)
    for op, inputs, attrs in (
        ("normalization", (_X, *_statistics(6)), {}),
        ("instance_norm", (_X, *_affine(6)), {}),
        ("group_norm", (_X, *_affine(6)), {"groups": 2}),
        ("layer_norm", (_X, *_affine(4)), {}),
        ("lrn", (_X,), {"size": 3, "alpha": 0.5}),
    )
) + tuple(
    Case(f"{dtype}-with-float32-statistics", "normalization", (
        _X.astype(dtype.numpy), *_statistics(6)))
    for dtype in sorted(FLOATS)
)  # fmt: skip

_FIRST = _BATCH + _INSTANCE + _GROUP + _LAYER + _LRN + _DTYPES
_LAST = tuple(
    channels_last(case) for case in _FIRST if case.op in ("instance_norm", "group_norm", "lrn")
)

CASES: tuple[Case, ...] = _FIRST + _LAST


@pytest.mark.parametrize("case", CASES, ids=str)
def test_norm(device: str, case: Case) -> None:
    """Statistics are those of the oracle, also far from zero and where nothing varies."""
    check_case(device, case)
