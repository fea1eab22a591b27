"""Weights with what follows them multiplied in."""

from __future__ import annotations

import numpy as np

from headrace.aligned import Empty, aligned_empty
from headrace.tensor_spec import Array


def scaled(weight: Array, scale: Array, empty: Empty = aligned_empty) -> Array:
    """``weight * scale`` in a new aligned array of the weight's dtype.

    Computed in float64 and rounded once; a piece at a time, so that no wide copy of it is made.

    Args:
        weight: float32 or float64[...], lying in any way.
        scale: float64, of a shape that is broadcast to the weight's.
        empty: gives the new array.
    """
    made = empty(weight.shape, weight.dtype)
    np.multiply(weight, scale, out=made, dtype=np.float64, casting="same_kind")
    return made
