"""``dataclass``: that of the standard library, declared in a fifth of the time.

There each class has its methods written as text, which is compiled when the class is declared. Of
the time in which a process with a kept plan was ready, that took a sixth. Here the methods are
functions that know the fields. To type checkers both are the same, and so they are to ``replace``,
``fields`` and ``pickle``; an instance is made about as fast, and refuses a wrong argument in other
words. So the package declares its records by this one, but for those that are derived from another.
Of a few classes thousands of instances are made while a model is compiled: these write their
``__init__`` themselves, with ``setters``, in half of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "setters"]


def setters(cls: type) -> tuple[Callable[[object, Any], None], ...]:
    """What puts a value into each field of a class with slots, frozen or not, in order."""
    return tuple([getattr(cls, name).__set__ for name in cls.__slots__])  # type: ignore[attr-defined]


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from dataclasses import MISSING, FrozenInstanceError, fields
    from dataclasses import dataclass as _declare
    from operator import attrgetter, ge, gt, le, lt

    def dataclass(*, slots, frozen=False, eq=True, order=False):
        """Declare a class with ``slots``; what it defines itself stays.

        It may not be derived from another one, and no field is only an argument.

        Args:
            slots: True.
            frozen, eq, order: as the standard library has them.
        """
        assert slots

        def declare(written):
            # A class that defines equality alone has None for a hash: it gets one.
            own = {name for name, value in vars(written).items() if value is not None}
            written.__doc__ = written.__doc__ or written.__name__  # else a signature is made for it
            cls = _declare(init=False, repr=False, eq=False, slots=True)(written)
            cls.__dataclass_params__.frozen = frozen
            for name, method in _methods(cls, frozen, eq, order):
                if name not in own:
                    setattr(cls, name, method)
            return cls

        return declare

    def _methods(cls, frozen, eq, order):
        """Name and function of each method that a class gets if it has none."""
        known = fields(cls)
        puts = [getattr(cls, field.name).__set__ for field in known]
        yield "__init__", _init(cls, known)
        yield "__repr__", _repr(cls, [field.name for field in known if field.repr])
        values = _values([field.name for field in known if field.compare])
        if eq:
            yield "__eq__", _equality(values)
            yield "__hash__", (lambda self: hash(values(self))) if frozen else None
        if order:
            for name, compare in (("__lt__", lt), ("__le__", le), ("__gt__", gt), ("__ge__", ge)):
                yield name, _comparison(values, compare)
        if frozen:
            names = [field.name for field in known]
            yield "__setattr__", _refuse_to_assign
            yield "__delattr__", _refuse_to_delete
            yield "__getstate__", lambda self: [getattr(self, name) for name in names]
            yield "__setstate__", lambda self, state: _put(self, puts, state)

    def _init(cls, known):
        """What takes the fields, in order or by name."""
        given = [field for field in known if field.init]
        puts = [getattr(cls, field.name).__set__ for field in given]
        count = len(given)
        plain = tuple(field.default for field in given if field.default is not MISSING)
        made = any(field.default_factory is not MISSING for field in given)
        least = count if made else count - len(plain)
        after = _after(cls, [field for field in known if not field.init])

        def __init__(self, *args, **named):
            if named or len(args) != count:  # seldom: what is made often is given all
                if named or not least <= len(args) < count:
                    args = _completed(cls, given, args, named)
                else:
                    args += plain[len(args) - least :]
            for put, value in zip(puts, args):  # noqa: B905 - there are as many
                put(self, value)
            if after is not None:
                after(self)

        return __init__

    def _after(cls, own):
        """What follows when all is there that was given: the class's own fields, and its own work.

        None when nothing does.
        """
        own = [
            field
            for field in own
            if field.default is not MISSING or field.default_factory is not MISSING
        ]
        then = getattr(cls, "__post_init__", None)
        if not own:
            return then
        puts = [getattr(cls, field.name).__set__ for field in own]

        def after(self):
            for put, field in zip(puts, own, strict=True):
                made = field.default is MISSING
                put(self, field.default_factory() if made else field.default)
            if then is not None:
                then(self)

        return after

    def _completed(cls, given, args, named):
        """The value of each field."""
        if len(args) > len(given):
            raise TypeError(f"{cls.__name__}() takes {len(given)} values; {len(args)} were given")
        values = [*args]
        for field in given[len(args) :]:
            if field.name in named:
                values.append(named.pop(field.name))
            elif field.default is not MISSING:
                values.append(field.default)
            elif field.default_factory is not MISSING:
                values.append(field.default_factory())
            else:
                raise TypeError(f"{cls.__name__}() lacks its argument {field.name!r}")
        if named:
            name = next(iter(named))
            known = any(name == field.name for field in given)
            why = "was given it in its place as well" if known else "has no such argument"
            raise TypeError(f"{cls.__name__}() {why}: {name!r}")
        return values

    def _put(self, puts, values):
        for put, value in zip(puts, values, strict=True):
            put(self, value)

    def _repr(cls, names):
        def __repr__(self):
            shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
            return f"{type(self).__qualname__}({shown})"

        return __repr__

    def _values(names):
        """What gives the values that are compared; of one field, the value itself."""
        return attrgetter(*names) if names else lambda self: ()

    def _comparison(values, compare):
        def compared(self, other):
            if other.__class__ is not self.__class__:
                return NotImplemented
            return compare(values(self), values(other))

        return compared

    def _equality(values):
        def equal_to(self, other):
            if other is self:  # most that is compared is the same
                return True
            if other.__class__ is not self.__class__:
                return NotImplemented
            return values(self) == values(other)

        return equal_to

    def _refuse_to_assign(self, name, value):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def _refuse_to_delete(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
