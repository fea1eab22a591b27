"""Classes of ``headrace.light_dataclass`` behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from headrace import light_dataclass


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Theirs:
    """As the standard library declares it."""

    name: str
    sizes: tuple[int, ...] = ()
    notes: dict[str, int] = dataclasses.field(default_factory=dict, compare=False)
    total: int = dataclasses.field(init=False, repr=False, compare=False)
    seen: int = dataclasses.field(default=0, init=False)
    heard: list[str] = dataclasses.field(default_factory=list, init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", sum(self.sizes))


@light_dataclass.dataclass(frozen=True, slots=True, order=True)
class Ours:
    """The same."""

    name: str
    sizes: tuple[int, ...] = ()
    notes: dict[str, int] = dataclasses.field(default_factory=dict, compare=False)
    total: int = dataclasses.field(init=False, repr=False, compare=False)
    seen: int = dataclasses.field(default=0, init=False)
    heard: list[str] = dataclasses.field(default_factory=list, init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", sum(self.sizes))


@light_dataclass.dataclass(slots=True, eq=False)
class Counter:
    """Changes, and is told apart by who it is."""

    count: int = 0


@light_dataclass.dataclass(frozen=True, slots=True)
class Text:
    """Has methods of its own."""

    text: str

    def __init__(self, text: object) -> None:
        object.__setattr__(self, "text", str(text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and self.text.lower() == other.text.lower()

    def __hash__(self) -> int:
        return 7


ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}),
    (("a", (1, 2)), {}),
    (("a", (1, 2), {"x": 1}), {}),
    ((), {"name": "a", "sizes": (2,)}),
    (("b",), {"notes": {"y": 2}}),
]
BOTH: list[Any] = [Theirs, Ours]


@pytest.mark.parametrize(("given", "named"), ARGUMENTS)
def test_an_instance_holds_and_prints_the_same(
    given: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """By place and by name, with what is left out."""
    theirs, ours = (cls(*given, **named) for cls in BOTH)
    assert dataclasses.astuple(ours) == dataclasses.astuple(theirs)
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")


@pytest.mark.parametrize(
    ("given", "named"),
    [((), {}), (("a", (), {}, 1), {}), (("a",), {"name": "b"}), (("a",), {"other": 1})],
    ids=["one-is-missing", "one-too-many", "given-twice", "unknown"],
)
def test_wrong_arguments_are_refused(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    """With the error of a function that is called in a wrong way."""
    for cls in BOTH:
        with pytest.raises(TypeError, match=cls.__name__):
            cls(*given, **named)


@pytest.mark.parametrize(
    "compare", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
)
def test_two_are_compared_by_the_same_fields(compare: Callable[[Any, Any], bool]) -> None:
    """In their order, without those that do not count."""
    made = [(c("a"), c("a", (), {"x": 1}), c("a", (1,)), c("b")) for c in BOTH]
    theirs, ours = ([compare(x, y) for x in each for y in each] for each in made)
    assert ours == theirs


def test_equal_ones_have_one_hash_and_no_other_class_is_equal() -> None:
    """So they are keys; a tuple of the same values is another one."""
    assert {Ours("a"): 1}[Ours("a", (), {"x": 2})] == 1
    assert Ours("a") != Theirs("a")
    with pytest.raises(TypeError):
        operator.lt(Ours("a"), Theirs("a"))


def test_fields_of_a_frozen_one_stay() -> None:
    """Nothing is assigned, added or deleted."""
    for made in (Theirs("a"), Ours("a")):
        for change in (
            lambda made: setattr(made, "name", "b"),
            lambda made: setattr(made, "other", "b"),
            lambda made: delattr(made, "name"),
        ):
            with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
                change(made)
        assert made.name == "a"


def test_the_tools_for_dataclasses_know_them() -> None:
    """They are replaced, copied, sent to other processes and matched by place."""
    made = Ours("a", (1, 2), {"x": 1})
    assert dataclasses.replace(made, sizes=(5,)).total == 5
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert dataclasses.astuple(other) == dataclasses.astuple(made)
    assert [f.name for f in dataclasses.fields(Ours)] == [
        f.name for f in dataclasses.fields(Theirs)
    ]
    match made:
        case Ours(name, sizes):
            assert (name, sizes) == ("a", (1, 2))


def test_one_that_is_not_frozen_may_change() -> None:
    """And is equal to itself alone, if it has no equality."""
    counter = Counter()
    counter.count += 1
    assert counter.count == 1
    assert counter != Counter(1) and len({counter, Counter(1)}) == 2


def test_methods_that_a_class_defines_stay() -> None:
    """What it leaves out it gets."""
    assert Text(5) == Text("5") and Text("A") == Text("a")
    assert hash(Text("a")) == 7
    assert repr(Text("a")) == "Text(text='a')"


def test_setters_put_values_into_fields_in_order() -> None:
    """Also where assignment is refused: an ``__init__`` that is written out uses them."""
    made = object.__new__(Ours)
    for put, value in zip(light_dataclass.setters(Ours), ("a", (1, 2), {}, 3, 0, []), strict=True):
        put(made, value)
    assert made == Ours("a", (1, 2)) and made.total == 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "b"  # type: ignore[misc]
