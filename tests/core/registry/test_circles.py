"""Backends that ask for each other while they are loaded."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.errors import DeviceUnavailableError
from headrace.registry import BackendRegistry, State
from headrace.registry.discover import discover
from headrace.testing.faults.catalogue import GOOD, TAG

Make = Callable[..., SimpleNamespace]


@pytest.mark.parametrize("first", ["base", "toy"])
def test_two_that_ask_for_each_other_are_both_refused(make_plugin: Make, first: str) -> None:
    """Whichever is asked first; nothing recurses, nothing hangs, and neither is half there."""

    def needs(other: str) -> Callable[[], tuple[()]]:
        def headrace_kernels() -> tuple[()]:
            registry.backend(other)
            return ()

        return headrace_kernels

    registry = BackendRegistry.from_modules(
        {
            "toy": make_plugin(headrace_kernels=needs("base")),
            "base": make_plugin("base", headrace_kernels=needs("toy")),
        }
    )

    with pytest.raises(DeviceUnavailableError) as caught:
        registry.backend(first)

    assert "is being loaded and asks for itself" in str(caught.value)
    assert [(record.tag, record.state) for record in registry.records()] == [
        ("base", State.INVALID),
        ("toy", State.INVALID),
    ]


def test_one_that_asks_another_registry_for_itself_is_told_so(
    site: Path, install: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that is half there is not judged by the half, and not for good."""
    install(site, tag=TAG, source=f"import sys\nsys.asked_for_itself()\n{GOOD}")
    inner, outer = (BackendRegistry(discover([str(site)])) for _ in range(2))
    said: list[str] = []

    def ask() -> None:
        with pytest.raises(DeviceUnavailableError) as caught:
            inner.backend(TAG)
        said.append(f"{caught.value.reason}: {caught.value}")

    monkeypatch.setattr(sys, "asked_for_itself", ask, raising=False)

    assert outer.backend(TAG).tag == TAG
    (one,) = said
    assert one.startswith("loading: ")
    assert "asks for itself" in one
    assert inner.backend(TAG).tag == TAG


# Who asks for whom while it is loaded: `b` must have b, `(b)` does without where b is refused.
CIRCLES = [
    ("a: b; b: a", {"a": "invalid", "b": "invalid"}),
    ("a: (b); b: a", {"a": "ready", "b": "ready"}),
    ("a: (b); b: (a)", {"a": "ready", "b": "ready"}),
    ("a: b; b: c; c: (a)", {"a": "ready", "b": "ready", "c": "ready"}),
    ("a: b; b: c; c: a", {"a": "invalid", "b": "invalid", "c": "invalid"}),
    ("a: (b) b; b: (a)", {"a": "ready", "b": "ready"}),
    ("a: (b) c; b: a; c: b", {"a": "invalid", "b": "invalid", "c": "invalid"}),
    ("r: a b; a: (b); b: a", {"r": "ready", "a": "ready", "b": "ready"}),
    ("a: a b; b: (a)", {"a": "invalid", "b": "ready"}),
    ("a: (a) (b); b: a", {"a": "ready", "b": "ready"}),
    ("a: b nosuch; b: (a)", {"a": "invalid", "b": "ready"}),
    ("a: (b) (c) (d) x; b: (a) (c) (d) x; c: (a) (b) (d) x; d: (a) (b) (c) x",
     {"a": "invalid", "b": "invalid", "c": "invalid", "d": "invalid"}),
]  # fmt: skip


def circle(make_plugin: Make, text: str) -> tuple[BackendRegistry, Counter[str]]:
    """A registry of the backends that `text` describes, and how often each is asked for kernels."""
    calls: Counter[str] = Counter()

    def hook(tag: str, needs: list[str]) -> Callable[[], tuple[()]]:
        def headrace_kernels() -> tuple[()]:
            calls[tag] += 1
            for need in needs:
                with suppress(DeviceUnavailableError) if need[0] == "(" else nullcontext():
                    registry.backend(need.strip("()"))
            return ()

        return headrace_kernels

    plugins = {}
    for part in text.split("; "):
        tag, needs = part.split(": ")
        plugins[tag] = make_plugin(tag, headrace_kernels=hook(tag, needs.split()))
    registry = BackendRegistry.from_modules(plugins)
    return registry, calls


@pytest.mark.parametrize(("text", "states"), CIRCLES, ids=[text for text, _ in CIRCLES])
def test_what_is_refused_does_not_depend_on_who_is_asked_first(
    make_plugin: Make, text: str, states: dict[str, str]
) -> None:
    """Every order gives the same states, and asking again changes none."""
    for order in itertools.permutations(states):
        registry, calls = circle(make_plugin, text)
        for tag in (*order, *order):
            with suppress(DeviceUnavailableError):
                registry.backend(tag)
        assert {record.tag: str(record.state) for record in registry.records()} == states, order
        before = calls.copy()
        for tag in order:
            with suppress(DeviceUnavailableError):
                registry.backend(tag)
        assert calls == before


def test_one_that_failed_in_a_circle_is_loaded_again_at_once(make_plugin: Make) -> None:
    """Who asked for the other has both when it has one."""
    registry, calls = circle(make_plugin, "a: (b); b: a")

    registry.backend("a")

    assert [record.state for record in registry.records()] == [State.READY, State.READY]
    assert calls == {"a": 1, "b": 2}


def test_a_circle_is_told_by_its_members(make_plugin: Make) -> None:
    """The message says through whom a backend asks for itself."""
    registry, _ = circle(make_plugin, "a: b; b: c; c: a")

    with pytest.raises(DeviceUnavailableError, match="asks for itself by way of 'b', 'c'"):
        registry.backend("a")
