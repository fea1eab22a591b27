"""The oracle: every op written a second time, to be right and readable, never to be fast.

``REFERENCE[op](*inputs, **attrs)`` takes numpy arrays (None for an absent optional input) and
every attribute by keyword, and returns the output array or a tuple of them. Written apart from
``headrace.numpy_ops`` and from every backend: explicit formulas, accumulation in float64, no
shared helper. Dtypes of results are those of the op.

One file for each family, with the stems of ``headrace.ops``; ``scalars.py`` makes the oracle of an
elementwise op from a function of Python's numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.ops.families import FamilyTable

__all__ = ["REFERENCE"]

REFERENCE: Mapping[str, Callable[..., Any]] = FamilyTable(lambda family: family.FUNCTIONS, __name__)
"""The oracle of every op, by op name."""
