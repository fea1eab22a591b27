"""The oracle: every op written a second time, to be right and readable, never to be fast.

``REFERENCE[op](*inputs, **attrs)`` takes numpy arrays (None for an absent optional input) and
every attribute by keyword, and returns the output array or a tuple of them. Written apart from
``headrace.numpy_ops`` and from every backend: explicit formulas, accumulation in float64, no
shared helper. Dtypes of results are those of the op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from headrace.testing.reference import (
    activation,
    binary,
    cast,
    conv,
    fill,
    gather,
    logic,
    matmul,
    norm,
    pool,
    reduce,
    resize,
    shape,
    slice,
    softmax,
    unary,
)

__all__ = ["REFERENCE"]

_FAMILIES = (
    unary,
    binary,
    activation,
    logic,
    cast,
    matmul,
    reduce,
    softmax,
    conv,
    pool,
    norm,
    resize,
    shape,
    slice,
    gather,
    fill,
)

REFERENCE: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {name: function for family in _FAMILIES for name, function in family.FUNCTIONS.items()}
)
"""The oracle of every op, by op name."""
