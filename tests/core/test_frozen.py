"""Frozen classes with slots: the standard library's data classes are the oracle."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from headrace import frozen

Decorator = Callable[..., Any]


def classes(dataclass: Decorator, module: str) -> types.SimpleNamespace:
    """Classes of every sort, in a module of their own, so that pickle finds them."""

    @dataclass(frozen=True, slots=True)
    class Empty:
        """No field."""

    @dataclass(frozen=True, slots=True)
    class One:
        """One field."""

        x: Any

    @dataclass(frozen=True, slots=True)
    class Many:
        """Defaults of both kinds, and a method."""

        x: int
        y: str = "why"
        z: list[int] = dataclasses.field(default_factory=list)
        hidden: Any = dataclasses.field(default=0, compare=False, repr=False)

        def twice(self) -> int:
            """For the class must stay itself."""
            return 2 * self.x

    @dataclass(frozen=True, slots=True)
    class Child(One):
        """Fields of its base first."""

        w: int = 3

    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        """Sorted by its fields."""

        a: int
        b: int = 0

    @dataclass(frozen=True, slots=True, eq=False)
    class Itself:
        """Equal to itself alone."""

        a: int

    @dataclass(frozen=True, slots=True)
    class Checked:
        """Looks at what it was given."""

        a: int

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError("below 0")

    @dataclass(frozen=True, slots=True)
    class Own:
        """Has functions of its own."""

        a: int

        def __repr__(self) -> str:
            return f"own {self.a}"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.a % 10 == other.a % 10

        def __hash__(self) -> int:
            return self.a % 10

    @dataclass(frozen=True, slots=True)
    class Constants:
        """What is no field stays where it is."""

        a: int
        LIMIT: ClassVar[int] = 5

    made = types.ModuleType(module)
    for value in list(locals().values()):
        if isinstance(value, type):
            value.__module__, value.__qualname__ = module, value.__name__
            setattr(made, value.__name__, value)
    sys.modules[module] = made
    return types.SimpleNamespace(**{k: v for k, v in vars(made).items() if isinstance(v, type)})


OURS = classes(frozen.dataclass, "frozen_ours")
THEIRS = classes(dataclasses.dataclass, "frozen_theirs")
ARGUMENTS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Empty", (), {}),
    ("One", (4,), {}),
    ("One", (float("nan"),), {}),
    ("Many", (1,), {}),
    ("Many", (1, "x", [3]), {"hidden": 7}),
    ("Many", (), {"x": 2, "z": []}),
    ("Child", ("base",), {"w": 9}),
    ("Ordered", (1, 2), {}),
    ("Itself", (1,), {}),
    ("Checked", (1,), {}),
    ("Own", (11,), {}),
    ("Constants", (1,), {}),
]
MAKES = pytest.mark.parametrize(("name", "args", "named"), ARGUMENTS)


def both(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any]:
    return getattr(OURS, name)(*args, **named), getattr(THEIRS, name)(*args, **named)


@MAKES
def test_an_object_says_of_itself_what_the_standard_librarys_says(
    name: str, args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    ours, theirs = both(name, args, named)
    assert repr(ours) == repr(theirs)
    assert repr(dataclasses.asdict(ours)) == repr(dataclasses.asdict(theirs))
    assert [(f.name, f.type, f.compare, f.repr) for f in dataclasses.fields(ours)] == [
        (f.name, f.type, f.compare, f.repr) for f in dataclasses.fields(theirs)
    ]
    assert type(ours).__match_args__ == type(theirs).__match_args__
    assert type(ours).__slots__ == type(theirs).__slots__
    assert not hasattr(ours, "__dict__")
    assert str(inspect.signature(type(ours))) == str(inspect.signature(type(theirs)))
    assert inspect.getdoc(type(ours)) == inspect.getdoc(type(theirs))


@MAKES
def test_equality_and_hashes_are_by_value_or_by_identity(
    name: str, args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    for one, other in (both(name, args, named), both(name, args, named)[::-1]):
        again = type(one)(*args, **named)
        assert (one == again) is (type(other)(*args, **named) == other)
        assert one == one
        assert one != other
    ours, theirs = both(name, args, named)
    try:
        hash(theirs)
    except TypeError:
        with pytest.raises(TypeError, match="unhashable"):
            hash(ours)
    else:
        assert (hash(ours) == hash(copy.copy(ours))) is (hash(theirs) == hash(copy.copy(theirs)))


@MAKES
def test_nothing_can_be_set_or_deleted(
    name: str, args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    ours, theirs = both(name, args, named)
    names = [field.name for field in dataclasses.fields(theirs)]
    others = [] if name == "Constants" else ["nonsense"]  # that one is made by the library
    for made, fields in ((ours, names + others), (theirs, names)):
        for field in fields:
            with pytest.raises(dataclasses.FrozenInstanceError, match=f"assign to field '{field}'"):
                setattr(made, field, 1)
            with pytest.raises(dataclasses.FrozenInstanceError, match=f"delete field '{field}'"):
                delattr(made, field)


@MAKES
def test_copies_pickles_and_replacements_are_equal(
    name: str, args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    ours, _ = both(name, args, named)
    for made in (copy.copy(ours), copy.deepcopy(ours), dataclasses.replace(ours)):
        assert repr(made) == repr(ours)
    assert repr(pickle.loads(pickle.dumps(ours))) == repr(ours)
    if dataclasses.fields(ours):
        first = dataclasses.fields(ours)[0].name
        assert getattr(dataclasses.replace(ours, **{first: 77}), first) == 77


def test_defaults_are_made_anew_for_each_object() -> None:
    one, other = OURS.Many(1), OURS.Many(1)
    one.z.append(1)
    assert other.z == []
    assert one.twice() == 2


def test_wrong_arguments_are_type_errors() -> None:
    for kind in (OURS, THEIRS):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            kind.Many()
        with pytest.raises(TypeError, match="unexpected keyword argument 'q'"):
            kind.One(1, q=2)


def test_order_is_that_of_the_fields() -> None:
    a, b = OURS.Ordered(1, 2), OURS.Ordered(1, 3)
    assert a < b
    assert b >= a
    assert sorted([b, a]) == [a, b]
    with pytest.raises(TypeError):
        _ = a < THEIRS.Ordered(1, 3)


def test_what_is_checked_after_it_was_made_is_checked() -> None:
    with pytest.raises(ValueError, match="below 0"):
        OURS.Checked(-1)


def test_a_match_takes_fields_by_position() -> None:
    match OURS.Child("base", 2):
        case OURS.Child(x, 2):
            assert x == "base"
        case _:
            pytest.fail("it has a base and a 2")


def test_an_object_that_holds_itself_is_shown() -> None:
    for kind in (OURS, THEIRS):
        inside: list[Any] = []
        made = kind.One(inside)
        inside.append(made)
        assert repr(made) == "One(x=[...])"


def test_what_else_is_asked_for_is_made_by_the_standard_library() -> None:
    @frozen.dataclass(slots=True)
    class Changes:
        a: int

    made = Changes(1)
    made.a = 2
    assert dataclasses.asdict(made) == {"a": 2}
