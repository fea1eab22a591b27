"""Elementwise arithmetic of two or more tensors, on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.dtypes import FLOATS, INTS, NUMBERS, SIGNED_INTS, DType
from headrace.tensor_spec import Array
from headrace.testing.arrays import floats
from headrace.testing.case import Case
from headrace.testing.run import check_case

_ARITHMETIC = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
_A = np.array([-7.0, -2.5, -1.0, 0.0, 0.5, 1.0, 2.0, 7.5])
_B = np.array([2.0, -2.0, 3.0, -1.5, 4.0, -4.0, 0.25, 2.5])
_SPECIAL = np.array([-np.inf, np.inf, np.nan, -0.0, 0.0, 1.5, -2.0], np.float32)


def _ends(dtype: DType) -> tuple[Array, Array]:
    """Every pair of values at the ends and in the middle of an integer's range."""
    limits = np.iinfo(dtype.numpy)
    line = [limits.min, limits.min + 1, 0, 1, 2, 7, limits.max]
    line += [-1, -7] if dtype.kind == "i" else [limits.max // 2]
    values = np.array(line, dtype.numpy)
    return values[:, None], values


def _mod(id: str, a: Array, b: Array) -> tuple[Case, ...]:
    return tuple(
        Case(f"{id}-{name}", "mod", (a, b), {"fmod": fmod})
        for name, fmod in (("down", False), ("towards-zero", True))
    )


_DTYPES = tuple(
    Case(str(dtype), op, (_A.astype(dtype.numpy), _B.astype(dtype.numpy)))
    for op in (*_ARITHMETIC, "mod")
    for dtype in sorted(FLOATS)
) + tuple(Case(str(dtype), op, _ends(dtype)) for op in _ARITHMETIC for dtype in sorted(INTS))

_SPECIALS = tuple(
    Case("special", op, (_SPECIAL[:, None], _SPECIAL)) for op in (*_ARITHMETIC, "power")
)

_BROADCASTS = tuple(
    Case(id, op, (np.arange(1, 1 + np.prod(a), dtype=np.float32).reshape(a), np.full(b, 2.5, "f")))
    for op in _ARITHMETIC
    for id, a, b in (
        ("scalar-right", (2, 3), ()),
        ("scalar-left", (), (2, 3)),
        ("row", (2, 3, 4), (4,)),
        ("channel", (2, 3, 4, 5), (3, 1, 1)),
        ("both-ways", (3, 1, 4), (2, 1, 5, 1)),
        ("empty", (0, 3), (1, 3)),
        ("empty-by-one", (1,), (0,)),
    )
)

_POWERS = (
    *(
        Case(str(dtype), "power", (np.array([[0.5], [1], [2], [3]]).astype(dtype.numpy), exponents))
        for dtype in sorted(FLOATS)
        for exponents in [np.array([-2, -0.5, 0, 0.5, 1, 3]).astype(dtype.numpy)]
    ),
    *(
        Case(
            str(dtype),
            "power",
            (np.array([[0], [1], [2], [3], [10]], dtype.numpy), np.arange(9, dtype=dtype.numpy)),
        )
        for dtype in sorted(INTS)
    ),
    *(
        Case(f"negative-exponents-{dtype}", "power", (bases[:, None], bases))
        for dtype in sorted(SIGNED_INTS)
        for bases in [np.array([-3, -2, -1, 0, 1, 2, 3], dtype.numpy)]
    ),
    Case("negative-base", "power", (-_A[3:].astype("f"), np.array([2, 3, -1, 0.5, 0], "f"))),
    Case("square-of-a-column", "power", (floats([[1], [2]]), floats(2))),
)

_MODS = (
    *(case for dtype in sorted(INTS) for case in _mod(str(dtype), *_ends(dtype))),
    *_mod("special", _SPECIAL[:, None], _SPECIAL),
    *_mod("signs", floats([5.5, -5.5, 5.5, -5.5]), floats([2, 2, -2, -2])),
)

_X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
_SUMS = (
    Case("one", "add_n", (_X,)),
    Case("three", "add_n", (_X, _X * 10, _X + 0.5)),
    Case("broadcast", "add_n", (_X, _X[:1, :, :1], floats(7), _X[0])),
    Case("the-last-is-the-widest", "add_n", (floats(1), _X[0, 0], _X)),
    Case("empty", "add_n", (_X[:0], _X[:0])),
    *(Case(str(d), "add_n", (np.array([1, 100], d.numpy),) * 3) for d in sorted(NUMBERS)),
)
_BIASES = (
    Case("channel", "bias_add", (_X, floats([1, 2, 3]))),
    Case("first", "bias_add", (_X, floats([10, 20])), {"axis": 0}),
    Case("last", "bias_add", (_X, floats([1, 2, 3, 4])), {"axis": -1}),
    Case("vector", "bias_add", (_X[0, 0], floats([1, 2, 3, 4])), {"axis": 0}),
    Case("empty", "bias_add", (_X[:0], floats([1, 2, 3]))),
    *(
        Case(str(d), "bias_add", (_X.astype(d.numpy), np.array([1, 2, 100], d.numpy)))
        for d in sorted(NUMBERS)
    ),
)

CASES: tuple[Case, ...] = (
    *_DTYPES,
    *_SPECIALS,
    *_BROADCASTS,
    *_POWERS,
    *_MODS,
    *_SUMS,
    *_BIASES,
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_binary(device: str, case: Case) -> None:
    """Arithmetic broadcasts as numpy does; integers wrap around and divide towards zero."""
    check_case(device, case)
