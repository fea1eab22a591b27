"""``dataclass``: that of the standard library, but frozen classes with slots are made sooner.

The standard library compiles the text of six functions for each class. A process makes a hundred
such classes before it runs its first job, and that took longer than all else in the import of
headrace. Here only the text of ``__init__`` is compiled; the rest are functions that all classes
have alike. What comes out is a data class to ``dataclasses`` (``fields``, ``replace``, ``asdict``),
to pickle and to ``match``. What a class asks for beyond that is left to the standard library.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        """As ``dataclasses.dataclass``."""
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        eq, order = options.get("eq", True), options.get("order", False)
        plain = {"frozen": True, "slots": True} | _given(options, "eq", "order")
        if options == plain and _is_simple(cls):
            return _made(cls, eq, order)
        return dataclasses.dataclass(cls, **options)


_UNUSUAL = ("ClassVar", "InitVar", "KW_ONLY", "typing.", "dataclasses.")
_ORDERS = {
    "__lt__": operator.lt,
    "__le__": operator.le,
    "__gt__": operator.gt,
    "__ge__": operator.ge,
}


def _given(options: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: options[name] for name in names if name in options}


def _is_simple(cls: type) -> bool:
    """Whether its fields are all like those that ``_made`` makes."""
    body = vars(cls)
    hints = body.get("__annotations__", {}).values()
    fields = [value for value in body.values() if type(value) is dataclasses.Field]
    return (
        all(isinstance(hint, str) and not hint.startswith(_UNUSUAL) for hint in hints)
        and all(f.init and f.hash is None and f.kw_only is not True for f in fields)
        and not body.keys() & {"__slots__", "__setattr__", "__delattr__", *_ORDERS}
    )


def _made(cls: Any, eq: bool, order: bool) -> Any:
    """The class with slots, and with the functions of a frozen data class."""
    fields = _fields(cls)
    body = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")}
    own = body.get("__annotations__", {})
    for name in own:
        body.pop(name, None)  # its default would be in the way of the slot
    inherited = {slot for base in cls.__mro__[1:-1] for slot in vars(base).get("__slots__", ())}
    values = _values_of(tuple(f.name for f in fields.values() if f.compare))
    if eq:
        body.setdefault("__eq__", _comparison(values, operator.eq))
        if body.get("__hash__") is None:  # Python puts None where there is an __eq__
            body["__hash__"] = lambda self: hash(values(self))
    if order:
        body |= {name: _comparison(values, compare) for name, compare in _ORDERS.items()}
    body |= {
        "__slots__": tuple(name for name in own if name not in inherited),
        "__dataclass_fields__": fields,
    }
    for name, default in (
        ("__match_args__", tuple(fields)),
        ("__repr__", _repr_of(tuple(f.name for f in fields.values() if f.repr))),
        ("__getstate__", _getstate),
        ("__setstate__", _setstate),
        ("__doc__", cls.__name__),
    ):
        if body.get(name) is None:
            body[name] = default
    made = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    if "__init__" not in body:
        made.__init__ = _init_of(made, fields)
    made.__setattr__, made.__delattr__ = _refusals(made, frozenset(fields))
    return made


def _fields(cls: Any) -> dict[str, Any]:
    """The fields by name, those of bases first, as ``dataclasses`` has them."""
    fields: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        fields |= getattr(base, "__dataclass_fields__", {})
    for name, hint in vars(cls).get("__annotations__", {}).items():
        field: Any = vars(cls).get(name, dataclasses.MISSING)
        if type(field) is not dataclasses.Field:
            field = dataclasses.field(default=field)
        field.name, field.type, field.kw_only = name, hint, False
        field._field_type = getattr(dataclasses, "_FIELD")  # noqa: B009 - stubs do not have it
        fields[name] = field
    return fields


def _init_of(cls: Any, fields: dict[str, Any]) -> Any:
    """``__init__``: sets the slots, each by its descriptor, which ``__setattr__`` does not see."""
    names: dict[str, Any] = {"_missing": _MADE_ANEW}
    parameters, lines = ["self"], []
    for name, field in fields.items():
        names[f"_set_{name}"] = getattr(cls, name).__set__
        parameter = value = name
        if field.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"] = field.default_factory
            parameter = f"{name}=_missing"
            value = f"_make_{name}() if {name} is _missing else {name}"
        parameters.append(parameter)
        lines.append(f" _set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines or [" pass"]), names)
    init = names["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    init.__annotations__ = {name: field.type for name, field in fields.items()} | {"return": None}
    return init


class _MadeAnew:
    """The default of what a function makes, as signatures show it."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE_ANEW = _MadeAnew()


def _values_of(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _comparison(values: Callable[[Any], Any], compare: Callable[[Any, Any], bool]) -> Any:
    def compared(self: object, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compare(values(self), values(other))

    return compared


def _repr_of(names: tuple[str, ...]) -> Any:
    @recursive_repr()
    def shown(self: object) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({inside})"

    return shown


def _refusals(cls: Any, names: frozenset[str]) -> tuple[Any, Any]:
    """``__setattr__`` and ``__delattr__``."""

    def set_attribute(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete_attribute(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return set_attribute, delete_attribute


def _getstate(self: Any) -> list[object]:
    return [getattr(self, name) for name in self.__dataclass_fields__]


def _setstate(self: Any, state: list[object]) -> None:
    for name, value in zip(self.__dataclass_fields__, state, strict=True):
        object.__setattr__(self, name, value)
