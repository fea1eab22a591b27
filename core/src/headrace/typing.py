"""Annotations of job functions: what goes in and what comes out.

>>> import headrace.typing as tp
>>> tp.Numpy.Placeholder((2, 3))
<Placeholder float32[2, 3]>

Parameters are ``Numpy.Placeholder(shape, dtype)`` or a (nested) ``Tuple`` of them. The result is
``Numpy``, ``Tuple[...]``, ``List[...]`` or ``Dict[str, ...]`` of results, ``Bundle[Numpy]`` for any
nesting, or None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Dict, Generic, List, Tuple, TypeVar, cast  # noqa: UP035 - re-exported on purpose

from headrace.tensor_spec import TensorSpec

__all__ = ["Bundle", "Dict", "List", "Numpy", "Tuple"]

_Leaf = TypeVar("_Leaf")


class _PlaceholderMeta(type):
    spec: TensorSpec

    def __repr__(cls) -> str:
        return f"<Placeholder {cls.spec}>"


class Numpy:
    """A numpy array: the result of a job, and with ``Placeholder`` a parameter."""

    @staticmethod
    def Placeholder(shape: Sequence[int], dtype: object = "float32") -> type[Numpy]:
        """A parameter of exactly this shape and dtype.

        Raises:
            ShapeError, DTypeError: no tensor has this shape or dtype.
        """
        spec = TensorSpec(tuple(shape), dtype)
        return cast("type[Numpy]", _PlaceholderMeta("Placeholder", (Numpy,), {"spec": spec}))


class Bundle(Generic[_Leaf]):
    """A result of any nesting of tuples, lists and dicts whose leaves are ``_Leaf``."""
