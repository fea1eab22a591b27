"""Arrays that cases and tests are made of: written out, or drawn from a seed."""

from __future__ import annotations

import numpy as np

from headrace.tensor_spec import Array


def floats(values: object) -> Array:
    """``values`` as float32."""
    return np.array(values, np.float32)


def normal(*shape: int, seed: int = 0) -> Array:
    """float32[shape], of the standard normal distribution; the same for the same seed."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def noise(nbytes: int, seed: int) -> Array:
    """uint8[nbytes], each value as likely as any other; the same for the same seed."""
    return np.random.default_rng(seed).integers(0, 256, nbytes, np.uint8)
