"""Batches of matrices as native products take them."""

from __future__ import annotations

import math

import numpy as np

from headrace.tensor_spec import Array


def all_matrices(x: Array) -> Array:
    """All matrices of a batch along one axis."""
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def places_of(x: Array, y: Array) -> list[int]:
    """Which matrix of ``x`` each one of ``y`` is made of."""
    batch = x.shape[:-2]
    places: list[int] = (
        np.broadcast_to(np.arange(math.prod(batch)).reshape(batch), y.shape[:-2])
        .reshape(-1)
        .tolist()
    )
    return places
