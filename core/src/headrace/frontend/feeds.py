"""Feeds: from what a caller hands over to the array that a plan expects."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np

from headrace.dtypes import dtype_of
from headrace.errors import DTypeError, InputError
from headrace.tensor_spec import Array, TensorSpec


def is_feed(value: object, spec: TensorSpec) -> TypeGuard[Array]:
    """Whether ``as_feed`` gives ``value`` itself, as it mostly does; sooner than it could."""
    return (
        type(value) is np.ndarray and value.shape == spec.shape and value.dtype == spec.dtype.numpy
    )


def as_feed(where: str, value: object, spec: TensorSpec) -> Array:
    """``value`` as an array of exactly ``spec``, in the machine's byte order; shares memory.

    Any memory layout will do: read-only, strided and Fortran-ordered arrays are copied when the
    plan takes them in. A dtype is never changed in silence.

    Args:
        where: what the value is for, for messages (``job 'f': input 'x'``).
        value: an array or whatever numpy makes one of.
        spec: what the job was compiled for.

    Raises:
        InputError: not an array, or of another dtype, rank or shape.
    """
    if is_feed(value, spec):
        return value
    try:
        array = np.asarray(value)
        found = dtype_of(array.dtype)
    except (DTypeError, ValueError) as error:
        raise InputError(f"{where} must be an array {spec}: {error}") from None
    if found != spec.dtype:
        raise InputError(
            f"{where} must be {spec} and its dtype is {found}; convert it with "
            f".astype({spec.dtype.name!r}) if that is meant"
        )
    if array.ndim != spec.rank:
        raise InputError(
            f"{where} must be {spec}, of rank {spec.rank}, and its shape is {array.shape}"
        )
    if array.shape != spec.shape:
        raise InputError(f"{where} must be {spec} and its shape is {array.shape}")
    return array
