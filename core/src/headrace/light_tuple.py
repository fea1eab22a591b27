"""``NamedTuple``: that of ``typing``, declared in half of the time.

There each annotation is compiled, to see whether it is a type; here it is a text that is kept. To
type checkers both are the same, and so are their classes to everybody else. What every start
imports is declared by this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import namedtuple

    _MADE = frozenset({"__annotations__", "__module__", "__qualname__"})

    class _Declared(type):
        """Makes of a class statement the class of tuples that it describes."""

        def __new__(cls, name, bases, written):
            types = written["__annotations__"]
            defaults = [written[field] for field in types if field in written]
            if any(field in written for field in [*types][: len(types) - len(defaults)]):
                raise TypeError(f"{name}: a field without a default follows one that has one")
            made = namedtuple(name, types, defaults=defaults, module=written["__module__"])
            made.__annotations__ = types
            made.__qualname__ = written["__qualname__"]
            for key, value in written.items():
                if key not in _MADE and key not in types:
                    setattr(made, key, value)
            return made

    NamedTuple = type.__new__(_Declared, "NamedTuple", (), {})
