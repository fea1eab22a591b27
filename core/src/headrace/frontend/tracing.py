"""Tracing: running a job function once on symbols, to learn its ops."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from headrace.dtypes import DType
from headrace.errors import DTypeError, JobError, ShapeError
from headrace.frontend.scope import LogicalView, current_placement, current_view
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.hint import SbpHint
from headrace.ops import Tensor

T = TypeVar("T")

_BUILDER: ContextVar[JobGraphBuilder | None] = ContextVar("headrace_job", default=None)
_PACKAGE = str(Path(__file__).parent)


class Symbol:
    """A tensor inside a job function: it has a shape and a dtype, and no value yet.

    ``+ - * / @`` and unary ``-`` are ops; Python numbers become constants of the other operand's
    dtype.
    """

    def __init__(self, tensor: Tensor, builder: JobGraphBuilder) -> None:
        self._tensor = tensor
        self._builder = builder

    @property
    def name(self) -> str:
        """The tensor's name in its job."""
        return self._tensor.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Dimensions; all known."""
        return self._tensor.spec.shape

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self._tensor.spec.dtype

    def tensor_in(self, builder: JobGraphBuilder) -> Tensor:
        """The tensor, in the graph that ``builder`` builds.

        Raises:
            JobError: it is a tensor of another graph. That one may have a namesake here.
        """
        if self._builder is not builder:
            raise JobError(
                f"{self!r} is a tensor of job {self._builder.name!r}, as it was traced once, and "
                f"job {builder.name!r} is traced now; let jobs share a variable, or return it from "
                "one and feed it to the other"
            )
        return self._tensor

    def with_distribute(self, distribute: object) -> Symbol:
        """Say how this tensor is distributed over the devices of its placement; returns the symbol.

        What an op makes lies so over the devices of that op; what is fed or constant, over those of
        each op that reads it. Where one device has all of it there is nothing to say.

        Args:
            distribute: ``headrace.distribute.split(axis)``, ``broadcast()`` or ``auto()``; a list
                of them, one for each axis of the hierarchy; or a text such as ``"S(0),B"``.

        Raises:
            SbpError: it is none of these, the tensor has no such axis, or another way was said
                before. That its op cannot do it is found out when the job is compiled.
            JobError: called outside the job function that made the symbol.
        """
        builder = _BUILDER.get()
        if builder is None:
            raise JobError(f"{self!r} belongs to a job that is not being traced any more")
        builder.hint(self.tensor_in(builder), SbpHint.of(distribute, _caller()))
        return self

    def __repr__(self) -> str:
        return f"<Symbol {self.name}: {self._tensor.spec}>"

    def __bool__(self) -> bool:
        raise JobError(
            f"{self!r} has no value while the job is traced, so Python cannot branch on it"
        )

    def __float__(self) -> NoReturn:
        raise JobError(
            f"{self!r} has no value while the job is traced, so it is no number for Python; apply "
            "headrace's ops, or return it and take the number from what the call gives"
        )

    __int__ = __index__ = __complex__ = __float__

    def __len__(self) -> NoReturn:
        raise JobError(f"{self!r} has no length while the job is traced; its sizes are in .shape")

    def __getitem__(self, key: object) -> NoReturn:
        raise JobError(
            f"{self!r} cannot be indexed while the job is traced; for the op write "
            "headrace.apply_op('slice', [x], starts=(0,), ends=(1,), axes=(0,)), or gather"
        )

    def __eq__(self, other: object) -> NoReturn:
        raise JobError(
            f"{self!r} cannot be compared with == or != while the job is traced; for the op write "
            "headrace.apply_op('equal', [a, b]), for the same symbol use 'is'"
        )

    __hash__ = object.__hash__

    def __lt__(self, other: object) -> NoReturn:
        raise JobError(
            f"{self!r} cannot be compared with <, <=, > or >= while the job is traced; for the op "
            "write headrace.apply_op('less', [a, b]); others are less_equal, greater, greater_equal"
        )

    __le__ = __gt__ = __ge__ = __lt__

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise JobError(
            f"{self!r} has no value while the job is traced, so numpy cannot take it; apply "
            "headrace's ops, or return it and use numpy on what the call gives"
        )

    def __iter__(self) -> Iterator[Symbol]:
        raise JobError(f"{self!r} cannot be iterated while the job is traced")

    __array_ufunc__ = None  # numpy_array + symbol must reach Symbol.__radd__

    def __add__(self, other: SymbolLike) -> Symbol:
        return apply_op("add", [self, other])

    def __radd__(self, other: SymbolLike) -> Symbol:
        return apply_op("add", [other, self])

    def __sub__(self, other: SymbolLike) -> Symbol:
        return apply_op("subtract", [self, other])

    def __rsub__(self, other: SymbolLike) -> Symbol:
        return apply_op("subtract", [other, self])

    def __mul__(self, other: SymbolLike) -> Symbol:
        return apply_op("multiply", [self, other])

    def __rmul__(self, other: SymbolLike) -> Symbol:
        return apply_op("multiply", [other, self])

    def __truediv__(self, other: SymbolLike) -> Symbol:
        return apply_op("divide", [self, other])

    def __rtruediv__(self, other: SymbolLike) -> Symbol:
        return apply_op("divide", [other, self])

    def __matmul__(self, other: SymbolLike) -> Symbol:
        return apply_op("matmul", [self, other])

    def __rmatmul__(self, other: SymbolLike) -> Symbol:
        return apply_op("matmul", [other, self])

    def __neg__(self) -> Symbol:
        return apply_op("negative", [self])


SymbolLike = Symbol | np.ndarray[Any, np.dtype[Any]] | np.generic | float | int
"""What an op takes inside a job: a symbol, or a value that becomes a constant."""


def as_dtype(number: float, dtype: DType) -> np.ndarray[Any, np.dtype[Any]]:
    """A Python number as a constant of ``dtype``; floating point rounds, all else is exact.

    Raises:
        DTypeError: ``dtype`` does not hold the number.
    """
    try:
        value = np.array(number, dtype.numpy)
        if dtype.is_float or (value == np.array(number)).all():
            return value
    except (OverflowError, TypeError, ValueError):
        pass
    raise DTypeError(
        f"{number!r} is no value of {dtype}, the dtype it would take here; cast the tensor that "
        "it meets, or write a number that fits"
    )


def traced(builder: JobGraphBuilder, function: Callable[[], T]) -> T:
    """What ``function`` returns; ops that it applies are sent to ``builder``.

    It runs in a context of its own, so that wherever Ctrl-C comes, nothing has to be reset: neither
    what is traced nor a scope that it has entered.

    Raises:
        JobError: a job is being traced already: job functions do not call each other.
    """
    check_not_tracing(f"job {builder.name!r} was called")

    def run() -> T:
        _BUILDER.set(builder)
        return function()

    return copy_context().run(run)


def check_not_tracing(what: str) -> None:
    """Check that ``what`` is not done by the function of a job, while that is traced.

    Raises:
        JobError: it is.
    """
    outer = _BUILDER.get()
    if outer is not None:
        raise JobError(
            f"{what} while job {outer.name!r} is traced; "
            "factor what they share into a plain function"
        )


def current_builder(what: str) -> JobGraphBuilder:
    """The graph of the job that is traced.

    Raises:
        JobError: none is; ``what`` was used outside a job function.
    """
    builder = _BUILDER.get()
    if builder is None:
        raise JobError(
            f"{what} outside a job; decorate the function with @global_function and call that"
        )
    return builder


def apply_ops(
    op: str,
    inputs: Sequence[SymbolLike | None],
    *,
    outputs: int = 1,
    name: str | None = None,
    **attrs: object,
) -> tuple[Symbol, ...]:
    """Apply any op of ``headrace.ops``, or of a plugin, in a job function; returns its outputs.

    Args:
        op: name of the op; one that a plugin brings is ``<tag>.<name>``, and its plugin is loaded.
        inputs: in schema order; None for an absent optional one. Arrays and numbers are constants;
            numbers take the dtype of the first symbol.
        outputs: how many outputs are wanted.
        name: name of the op in the job; default: made from the op's.
        attrs: attributes by name.

    Raises:
        JobError: called outside a job function, or with a symbol of another one.
        OpError: the op does not take these inputs or attributes.
        DeviceUnavailableError: the plugin that the op belongs to cannot be had.
    """
    return _apply(op, inputs, outputs, name, attrs)


def apply_op(
    op: str, inputs: Sequence[SymbolLike | None], *, name: str | None = None, **attrs: object
) -> Symbol:
    """``apply_ops`` for an op with one output."""
    return _apply(op, inputs, 1, name, attrs)[0]


def _apply(
    op: str,
    inputs: Sequence[SymbolLike | None],
    outputs: int,
    name: str | None,
    attrs: Mapping[str, object],
) -> tuple[Symbol, ...]:
    # Mirrored symbols are symbols, so this module is there before theirs.
    from headrace.frontend.mirrored import MirroredSymbol, apply_mirrored

    builder = current_builder(f"{op} was applied")
    placement, location = current_placement(builder.placement), _caller()

    def add(tensors: Sequence[Tensor | None], named: str | None) -> Sequence[Tensor]:
        try:
            return builder.op(
                op, tensors, outputs=outputs, name=named, location=location, attrs=attrs
            )
        except (ShapeError, DTypeError) as error:
            read = ", ".join(f"{t.name!r} {t.spec}" for t in tensors if t is not None)
            raise type(error)(f"{error}; it reads {read}") from None

    if current_view() is LogicalView.MIRRORED:
        return apply_mirrored(builder, op, inputs, name, placement, add)
    for item in inputs:
        if isinstance(item, MirroredSymbol):
            raise JobError(
                f"{op} ({location}) is applied in the consistent view to {item!r}; apply it in "
                "scope.mirrored_view(), or make one tensor of the parts first, for example by "
                "headrace.concat(x.parts, axis=0)"
            )
    dtype = next((item.dtype for item in inputs if isinstance(item, Symbol)), None)
    tensors = [as_tensor(builder, item, dtype) for item in inputs]
    with builder.placed(placement):
        return tuple(Symbol(tensor, builder) for tensor in add(tensors, name))


def as_tensor(
    builder: JobGraphBuilder, item: SymbolLike | None, dtype: DType | None
) -> Tensor | None:
    """What an op reads: the tensor of a symbol, or a constant; numbers take ``dtype``.

    Raises:
        JobError: the symbol is of another job, or mirrored.
    """
    if item is None or isinstance(item, Symbol):
        return None if item is None else item.tensor_in(builder)
    if isinstance(item, (np.ndarray, np.generic)):
        return builder.constant(np.array(item))
    return builder.constant(np.array(item) if dtype is None else as_dtype(item, dtype))


def _caller() -> str:
    """``file.py:line`` of the nearest frame outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
