"""Spectra, on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.dtypes import FLOATS, dtype_of
from headrace.tensor_spec import Array
from headrace.testing.case import Case
from headrace.testing.run import check_case


def _drawn(*shape: int) -> Array:
    return np.random.default_rng(7).integers(-9, 10, shape).astype(np.float32)


def _dft(name: str, x: Array, **attrs: object) -> Case:
    return Case(name, "dft", (x,), {"length": x.shape[-2], **attrs}, rtol=1e-3, atol=1e-4)


def _stft(name: str, x: Array, window: Array | None, **attrs: object) -> Case:
    return Case(name, "stft", (x, window), attrs, rtol=1e-3, atol=1e-4)


_WAYS = {
    "": {},
    "-inverse": {"inverse": True},
    "-onesided": {"onesided": True},
    "-onesided-inverse": {"onesided": True, "inverse": True},
}

CASES: tuple[Case, ...] = (
    *(
        _dft(f"{length}-points-of-{parts}{way}", _drawn(2, length, parts), **attrs)
        for length in (1, 2, 3, 4, 6, 17, 30, 64)
        for parts in (1, 2)
        for way, attrs in _WAYS.items()
    ),
    *(
        _dft(f"{length}-of-{points}{way}", _drawn(3, points, 2), length=length, **attrs)
        for length, points in ((16, 11), (11, 16), (15, 40))
        for way, attrs in _WAYS.items()
    ),
    *(
        _dft(f"{length}-points{way}", _drawn(1, length, 1), **attrs)
        for length in (210, 256, 251)
        for way, attrs in _WAYS.items()
    ),
    _dft("axes-outside", _drawn(2, 3, 2, 12, 2)),
    _dft("no-axis-outside", _drawn(12, 2)),
    _dft("no-signal", _drawn(0, 12, 2)),
    _dft("no-point", _drawn(2, 0, 2), length=4),
    _stft("a-window", _drawn(2, 50, 1), _drawn(16), length=16, step=5),
    _stft("no-window", _drawn(2, 50, 1), None, length=15, step=20),
    _stft("both-sides", _drawn(1, 40, 1), _drawn(12), length=12, step=3, onesided=False),
    _stft("complex", _drawn(2, 40, 2), _drawn(12), length=12, step=3, onesided=False),
    _stft("one-frame", _drawn(2, 20, 1), _drawn(20), length=20, step=1),
    _stft("a-long-step", _drawn(2, 20, 1), None, length=7, step=1 << 40),
    _stft("no-signal", _drawn(0, 20, 1), None, length=7, step=2),
    *(
        Case(f"{dtype}", "dft", (_drawn(2, 12, 2).astype(dtype_of(dtype).numpy),), {"length": 12})
        for dtype in sorted(map(str, FLOATS))
        if dtype != "float32"
    ),
    *(
        Case(
            f"{dtype}",
            "stft",
            tuple(x.astype(dtype_of(dtype).numpy) for x in (_drawn(2, 30, 1), _drawn(12))),
            {"length": 12, "step": 4},
        )
        for dtype in sorted(map(str, FLOATS))
        if dtype != "float32"
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_signal(device: str, case: Case) -> None:
    """A bin is the sum of what it turns the points into."""
    check_case(device, case)
