"""Classes of ``headrace.light_tuple`` behave as those of the standard library."""

from __future__ import annotations

import copy
import pickle
import typing
from collections.abc import Mapping
from types import new_class
from typing import Any

import pytest

from headrace import light_tuple


class Theirs(typing.NamedTuple):
    """As the standard library declares it."""

    name: str
    sizes: tuple[int, ...] = ()
    notes: Mapping[str, int] | None = None

    @property
    def total(self) -> int:
        """Of all sizes."""
        return sum(self.sizes)


class Ours(light_tuple.NamedTuple):
    """The same."""

    name: str
    sizes: tuple[int, ...] = ()
    notes: Mapping[str, int] | None = None

    @property
    def total(self) -> int:
        """Of all sizes."""
        return sum(self.sizes)


BOTH: list[Any] = [Theirs, Ours]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("a",), {}),
        (("a", (1, 2)), {}),
        (("a", (1, 2), {"x": 1}), {}),
        ((), {"name": "a", "sizes": (2,)}),
        (("b",), {"notes": {"y": 2}}),
    ],
)
def test_an_instance_holds_and_prints_the_same(
    given: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """By place and by name, with what is left out."""
    theirs, ours = (kind(*given, **named) for kind in BOTH)
    assert tuple(ours) == tuple(theirs)
    assert ours._asdict() == theirs._asdict()
    assert ours.total == theirs.total
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert ours._replace(name="c") == theirs._replace(name="c")


def test_the_classes_say_the_same_of_themselves() -> None:
    """Names, fields, defaults, documentation, and types."""
    assert Ours._fields == Theirs._fields
    assert Ours._field_defaults == Theirs._field_defaults
    assert Ours.__doc__ == "The same."
    assert (Ours.__module__, Ours.__qualname__) == (Theirs.__module__, "Ours")
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    assert issubclass(Ours, tuple)


def test_an_instance_is_copied_and_pickled() -> None:
    """By the name of its class."""
    ours = Ours("a", (1, 2), {"x": 1})
    assert copy.deepcopy(ours) == ours
    again = pickle.loads(pickle.dumps(ours))
    assert again == ours and type(again) is Ours


@pytest.mark.parametrize("kind", [typing.NamedTuple, light_tuple.NamedTuple])
def test_a_field_that_must_be_given_comes_first(kind: Any) -> None:
    """Else nobody could leave out the one before."""

    def body(names: dict[str, Any]) -> None:
        names.update(__annotations__={"a": "int", "b": "int"}, __module__=__name__, a=1)

    with pytest.raises(TypeError, match="default"):
        new_class("Wrong", (kind,), exec_body=body)


@pytest.mark.parametrize("given", [(), ("a", (), None, 1)], ids=["too few", "too many"])
def test_wrong_arguments_are_refused(given: tuple[Any, ...]) -> None:
    """As by any function."""
    for kind in BOTH:
        with pytest.raises(TypeError):
            kind(*given)
