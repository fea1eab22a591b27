"""``Size``: a symbolic integer, a polynomial of unknowns and of quotients."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.sizes.scope import Scope

Terms = tuple[tuple[tuple[int, ...], int], ...]
"""A polynomial: products of atoms, by their numbers, each with its factor; sorted, none is 0. The
product of no atom is what is added to the others."""

MARK = "\u27e8"
"""Begins what a size prints. No text that holds it may be part of what is made with sizes."""

Whole = Any
"""An integer or a ``Size``. To type checkers a size is no ``int``, and code that is given sizes
says ``int``: it need not know of them."""


class Size:
    """A symbolic integer. Made by a ``Scope``, and by arithmetic with others of it.

    Two sizes of one scope with equal terms are one object. It is no subclass of ``int``, whose
    number C code takes without asking; ``isinstance`` says it is one, since to whoever asks a size
    is to be what the number would be. Used by one thread.

    Hashed by its terms: a table that has numbers for keys does not find it, so that what is kept
    there must be a thing that can be made anew.

    Attributes:
        scope: the one that it is decided in.
        terms: the polynomial.
        example: what it is where the unknowns are as the scope was told. For the scope alone.
    """

    __slots__ = ("_hash", "example", "scope", "terms")

    def __init__(self, scope: Scope, terms: Terms, example: int) -> None:
        self.scope = scope
        self.terms = terms
        self.example = example
        self._hash = hash((scope.number, terms))

    @property
    def __class__(self) -> type:  # what ``isinstance`` asks; ``type`` tells the truth
        return int

    @__class__.setter
    def __class__(self, value: type) -> None:
        raise TypeError("a size stays one")

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{MARK}{self.scope.number}:{self.terms}\u27e9"

    # What tells the number.

    def __index__(self) -> int:
        return self.scope.pin(self)

    def __int__(self) -> int:
        return self.scope.pin(self)

    def __float__(self) -> float:
        return float(self.scope.pin(self))

    def __str__(self) -> str:
        return str(self.scope.pin(self))

    def __format__(self, form: str) -> str:
        return format(self.scope.pin(self), form)

    def bit_length(self) -> int:
        """Of the number."""
        return self.scope.pin(self).bit_length()

    # What is decided by it.

    def __bool__(self) -> bool:
        return not self.scope.is_equal(self, 0)

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if type(other) is Size and other.scope is not self.scope:
            return False  # what is kept of another scope is of no use in this one
        number = _whole(other)
        if number is not None:
            return self.scope.is_zero(self - number)
        return self._beside_float(operator.eq, other)

    def __le__(self, other: Any) -> bool:
        number = _whole(other)
        if number is not None:
            return self.scope.is_negative(self - number - 1)
        return self._beside_float(operator.le, other)

    def __lt__(self, other: Any) -> bool:
        number = _whole(other)
        if number is not None:
            return self.scope.is_negative(self - number)
        return self._beside_float(operator.lt, other)

    def __ge__(self, other: Any) -> bool:
        number = _whole(other)
        if number is not None:
            return not self.scope.is_negative(self - number)
        return self._beside_float(operator.ge, other)

    def __gt__(self, other: Any) -> bool:
        number = _whole(other)
        if number is not None:
            return not self.scope.is_negative(self - number - 1)
        return self._beside_float(operator.gt, other)

    def _beside_float(self, how: Any, other: Any) -> bool:
        if not isinstance(other, float):
            return NotImplemented  # type: ignore[no-any-return]  # Python asks ``other``
        if not math.isfinite(other):
            return bool(how(self.example, other))  # as it is for each number
        whole = math.floor(other)
        if whole == other:
            return bool(how(self, whole))
        if how is operator.eq:
            return False
        return self <= whole if how in (operator.lt, operator.le) else self > whole

    # What is computed of it.

    def __add__(self, other: Any) -> Whole:
        number = _whole(other)
        if number is None:
            return self._with_float(operator.add, self, other)
        return self.scope.total(self, number)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Whole:
        number = _whole(other)
        if number is None:
            return self._with_float(operator.sub, self, other)
        return self.scope.total(self, self.scope.product(number, -1))

    def __rsub__(self, other: Any) -> Whole:
        number = _whole(other)
        if number is None:
            return self._with_float(operator.sub, other, self)
        return self.scope.total(number, -self)

    def __neg__(self) -> Whole:
        return self.scope.product(self, -1)

    def __mul__(self, other: Any) -> Whole:
        number = _whole(other)
        if number is None:
            return self._with_float(operator.mul, self, other)
        return self.scope.product(self, number)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Whole:
        number = _whole(other)
        if number is None:
            return self._with_float(operator.floordiv, self, other)
        return self.scope.quotient(self, number)

    def __rfloordiv__(self, other: Any) -> Whole:
        number = _whole(other)
        if number is None:
            return self._with_float(operator.floordiv, other, self)
        return self.scope.quotient(number, self)

    def __mod__(self, other: Any) -> Whole:
        number = _whole(other)
        if number is None:
            return self._with_float(operator.mod, self, other)
        return self - number * self.scope.quotient(self, number)

    def __rmod__(self, other: Any) -> Whole:
        number = _whole(other)
        if number is None:
            return self._with_float(operator.mod, other, self)
        return number - self * self.scope.quotient(number, self)

    def __divmod__(self, other: Any) -> tuple[Whole, Whole]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Whole, Whole]:
        return other // self, other % self

    def __abs__(self) -> Whole:
        return -self if self < 0 else self

    def __pos__(self) -> Whole:
        return self

    __trunc__ = __floor__ = __ceil__ = __pos__

    def _with_float(self, how: Any, left: Any, right: Any) -> Any:
        """Of a size and a float; the answer to whoever has something else is that it is not known.

        A float that is made of a size tells its number.
        """
        if isinstance(left, float) or isinstance(right, float):
            number = self.scope.pin(self)
            return how(number if left is self else left, number if right is self else right)
        return NotImplemented

    def __truediv__(self, other: Any) -> Any:
        return self.scope.pin(self) / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.scope.pin(self)

    def __pow__(self, other: Any) -> Any:
        return self.scope.pin(self) ** other

    def __rpow__(self, other: Any) -> Any:
        return other ** self.scope.pin(self)

    def __lshift__(self, other: Any) -> Any:
        return self.scope.pin(self) << other

    def __rlshift__(self, other: Any) -> Any:
        return other << self.scope.pin(self)

    def __rshift__(self, other: Any) -> Any:
        return self.scope.pin(self) >> other

    def __and__(self, other: Any) -> Any:
        return self.scope.pin(self) & other

    __rand__ = __and__


def _whole(value: object) -> Whole | None:
    """An integer of any kind as it is counted with; None for what is none."""
    kind = type(value)
    if kind is int or kind is Size:
        return value
    if isinstance(value, float):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def as_size(value: object) -> Size | None:
    """``value`` if it is a ``Size``, else None."""
    return value if type(value) is Size else None


def has_sizes(values: Iterable[object]) -> bool:
    """Whether a ``Size`` is among ``values``."""
    return Size in map(type, values)
