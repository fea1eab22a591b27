"""``TensorSpec``: what every layer means by a tensor without its data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from headrace.dtypes import DType, dtype_of
from headrace.errors import ShapeError
from headrace.light_dataclass import dataclass, setters
from headrace.sizes import as_size

Array = np.ndarray[Any, np.dtype[Any]]


MAX_RANK = 32
"""Half of what numpy takes, so that ops may split every axis in two."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Shape and dtype of a tensor. Every dimension is known and at least 0.

    Attributes:
        shape: how many elements there are along each dimension.
        dtype: what the elements are.
        rank: number of dimensions.
        elements: number of elements; 1 for a scalar.
        nbytes: bytes of the tensor, contiguous and without padding.

    Raises:
        ShapeError: a dimension is negative or no integer, or there are more than ``MAX_RANK``.
        DTypeError: the dtype is not known.

    Example:
        >>> print(TensorSpec((2, 3), "float32"))
        float32[2, 3]
    """

    shape: tuple[int, ...]
    dtype: DType
    rank: int = field(init=False, compare=False, repr=False)
    elements: int = field(init=False, compare=False, repr=False)
    nbytes: int = field(init=False, compare=False, repr=False)

    def __init__(self, shape: Sequence[int], dtype: object) -> None:
        try:
            dims = tuple(shape)
            if not _INT.issuperset(map(type, dims)):
                dims = tuple(map(_dimension, dims))
        except TypeError:
            raise ShapeError(f"shape {shape!r} is not a sequence of integers") from None
        rank = len(dims)
        if rank > MAX_RANK:
            raise ShapeError(f"shape {dims} has rank {rank}; the limit is {MAX_RANK}")
        for dim in dims:
            if dim < 0:
                raise ShapeError(f"shape {dims} has a negative dimension")
        known = dtype if type(dtype) is DType else dtype_of(dtype)
        elements = math.prod(dims)
        _put_shape(self, dims)
        _put_dtype(self, known)
        _put_rank(self, rank)
        _put_elements(self, elements)
        _put_nbytes(self, elements * known.itemsize)

    def __eq__(self, other: object) -> bool:  # most that is compared is the same
        if self is other:
            return True
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return self.shape == other.shape and self.dtype.number == other.dtype.number

    def __hash__(self) -> int:  # specs of one shape and several dtypes seldom meet
        return hash(self.shape)

    @staticmethod
    def of(array: Array) -> TensorSpec:
        """The spec of a numpy array."""
        return _spec_of(array.shape, array.dtype)

    def with_shape(self, shape: tuple[int, ...]) -> TensorSpec:
        """The same dtype with another shape."""
        return _spec(tuple(shape), self.dtype)

    def with_dtype(self, dtype: DType) -> TensorSpec:
        """The same shape with another dtype."""
        return TensorSpec(self.shape, dtype)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


_put_shape, _put_dtype, _put_rank, _put_elements, _put_nbytes = setters(TensorSpec)


@lru_cache(maxsize=4096)
def _spec(shape: tuple[int, ...], dtype: DType) -> TensorSpec:
    """Remembered: nets repeat themselves, and what is the same object is compared at once."""
    return TensorSpec(shape, dtype)


def _dimension(dim: int) -> int:
    """One that may be of another type of integers, or symbolic."""
    return index(dim) if as_size(dim) is None else dim


_INT = frozenset({int})


@lru_cache(maxsize=1024)
def _spec_of(shape: tuple[int, ...], dtype: np.dtype[Any]) -> TensorSpec:
    """Remembered: every call asks it for the arrays that are fed, which rarely change shape."""
    return TensorSpec(shape, dtype)
