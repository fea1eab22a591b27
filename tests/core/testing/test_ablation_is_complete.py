"""The ablation suite takes away all there is: compared with the classes and records themselves."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import typing
from typing import Any

import headrace.device
import headrace.graph
import headrace.numpy_ops
import headrace.ops
from headrace import hookspecs
from headrace.device import Event
from headrace.graph import OpEntry
from headrace.testing.ablation.removal import FIELDS, MADE, METHODS, OPTIONAL

# Classes of the contract that no plugin makes, or that are one that is covered: why.
NOT_BACKENDS = {
    "HostAllocator": "core's own; plugins may use it as their Allocator",
    "HostBuffer": "core's own; its view is covered as that of Buffer",
}
# Public methods that plugins call and do not override.
HELPERS = {("Buffer", "check_view"), ("HostBuffer", "array"), ("HostBuffer", "at")}


def records() -> dict[str, type]:
    """The record of each hook, by the hook's annotation."""
    known = vars(headrace.device) | vars(headrace.graph) | {"Iterable": collections.abc.Iterable}
    hooks = {n: h for n, h in vars(hookspecs).items() if n.startswith("headrace_")}
    found = {}
    for name, hook in hooks.items():
        (record,) = typing.get_args(typing.get_type_hints(hook, known)["return"])
        found[name] = record
    return found


def is_function(hint: Any) -> bool:
    """True for the type of a function, or of a function or None."""
    if typing.get_origin(hint) is collections.abc.Callable:
        return True
    return any(is_function(part) for part in typing.get_args(hint) if part is not hint)


def functions(record: type) -> set[str]:
    """Names of the fields of a record that hold functions."""
    packages = (headrace.device, headrace.graph, headrace.numpy_ops, headrace.ops)
    known = {name: getattr(package, name) for package in packages for name in package.__all__}
    hints = typing.get_type_hints(record, localns=known)
    return {f.name for f in dataclasses.fields(record) if is_function(hints[f.name])}


def surface(kind: type) -> set[str]:
    """Public functions and flags in the body of a class; what instances hold is left out."""
    return {
        name
        for name, value in vars(kind).items()
        if not name.startswith("_") and not inspect.ismemberdescriptor(value)
    }


def backend_classes() -> dict[str, type]:
    """The classes of ``headrace.device`` that are no records, values or enumerations."""
    listed = {name: getattr(headrace.device, name) for name in headrace.device.__all__}
    return {
        name: kind
        for name, kind in listed.items()
        if inspect.isclass(kind)
        and not dataclasses.is_dataclass(kind)
        and not issubclass(kind, enum.Enum)
        and kind.__module__.startswith("headrace.device.")
    }


def test_every_public_method_is_taken_away() -> None:
    """A method that is added to a class of the contract has to be added to the suite."""
    taken = {(base.__name__, n) for base, names in METHODS.values() for n in names}
    taken |= {(base.__name__, name) for base, names in MADE.values() for name in names}
    there = {
        (name, method)
        for name, kind in backend_classes().items()
        if name not in NOT_BACKENDS
        for method in surface(kind)
    }
    assert there - HELPERS == taken


def test_what_is_left_out_adds_nothing() -> None:
    """Core's own classes have no method but those of their bases, and helpers; none is stale."""
    assert NOT_BACKENDS.keys() <= backend_classes().keys()
    for name in NOT_BACKENDS:
        kind = backend_classes()[name]
        inherited = {method for base in kind.__mro__[1:] for method in surface(base)}
        constants = {n for n in surface(kind) if n.isupper()}
        helpers = {method for owner, method in HELPERS if owner == name}
        assert surface(kind) - inherited - constants == helpers


def test_every_function_of_a_record_is_taken_away() -> None:
    """A field that holds a function has to be added to the suite, whichever hook it belongs to."""
    there = {(hook, name) for hook, record in records().items() for name in functions(record)}
    assert set(FIELDS) == there
    assert {(hook, name) for hook, name in OPTIONAL} <= there


def test_a_new_thing_would_be_missed() -> None:
    """The comparison sees what is there: a method, a flag, a function, a function or None."""

    class Wider(Event):
        def query(self) -> bool:
            return True

        is_late = False

    assert surface(Wider) == {"query", "is_late"}
    assert functions(OpEntry) == {"compute"}
    assert "headrace_passes" in records()
