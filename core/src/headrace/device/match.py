"""Predicates over an ``OpCall`` that say which calls a kernel takes, and print themselves."""

from __future__ import annotations

from collections.abc import Callable

from headrace.dtypes import dtype_of
from headrace.light_dataclass import dataclass
from headrace.op_call import OpCall

Match = Callable[[OpCall], bool]


class _AnyCall:
    __slots__ = ()

    def __call__(self, call: OpCall) -> bool:
        return True

    def __str__(self) -> str:
        return "any"


any_call: Match = _AnyCall()
"""Matches every call."""


@dataclass(frozen=True, slots=True)
class _Dtypes:
    names: tuple[str, ...]

    def __call__(self, call: OpCall) -> bool:
        spec = call.input(0) if call.has_input(0) else call.outputs[0]
        return spec.dtype.name in self.names

    def __str__(self) -> str:
        return " | ".join(self.names)


def dtypes(*names: str) -> Match:
    """Matches calls whose first input has one of these dtypes; without it, whose first output has.

    Raises:
        DTypeError: a name is no dtype.

    Example:
        >>> print(dtypes("float32", "float64"))
        float32 | float64
    """
    return _Dtypes(tuple(dtype_of(name).name for name in names))
