"""Annotations of job functions: what goes in and what comes out.

>>> import headrace.typing as tp
>>> tp.Numpy.Placeholder((2, 3))
<Placeholder float32[2, 3]>

Parameters are ``Numpy.Placeholder(shape, dtype)``, ``ListNumpy.Placeholder(shape, dtype)`` for an
array of each device, or a (nested) ``Tuple`` of them. The result is ``Numpy``, ``ListNumpy``,
``Tuple[...]``, ``List[...]`` or ``Dict[str, ...]`` of results, ``Bundle[Numpy]`` for any nesting,
or None; or a ``Callback[...]`` of one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import (  # noqa: UP035 - re-exported on purpose
    Dict,
    Generic,
    List,
    Protocol,
    Tuple,
    TypeVar,
    cast,
)

from headrace.tensor_spec import TensorSpec

__all__ = ["Bundle", "Callback", "Dict", "List", "ListNumpy", "Numpy", "Tuple"]

_Leaf = TypeVar("_Leaf")
_Result = TypeVar("_Result", covariant=True)


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


class ListNumpy:
    """A list of numpy arrays, one for each device: a mirrored tensor of a job."""

    @staticmethod
    def Placeholder(shape: Sequence[int], dtype: object = "float32") -> type[ListNumpy]:
        """A parameter with an array of this shape and dtype for each device of the job.

        These are the devices of ``FunctionConfig.default_placement_scope``.

        Raises:
            ShapeError, DTypeError: no tensor has this shape or dtype.
        """
        spec = TensorSpec(tuple(shape), dtype)
        made = _PlaceholderMeta("Placeholder", (ListNumpy,), {"spec": spec})
        return cast("type[ListNumpy]", made)


class Bundle(Generic[_Leaf]):
    """A result of any nesting of tuples, lists and dicts whose leaves are ``_Leaf``."""


class Callback(Protocol[_Result]):
    """The result of a job whose calls return before they are over: it takes a function.

    ``job(x)(print)`` starts a call and has ``print`` called with its result, on a thread that the
    job has for its callbacks, one after another in the order in which they were given.
    """

    def __call__(
        self,
        callback: Callable[[_Result], object],
        failed: Callable[[BaseException], object] | None = None,
    ) -> None:
        """Have ``callback`` called with the result when the call is over.

        A callback may call jobs, also this one. Blocks while as many callbacks of the job wait for
        their turn as its ``concurrency_width``; in a callback it does not.

        Args:
            callback: what it raises goes to ``threading.excepthook``, and the next one is called.
            failed: called in its place, with the error, if the run stopped; without it the error
                goes to ``threading.excepthook`` as well.

        Raises:
            SessionError: the session was closed.
        """
