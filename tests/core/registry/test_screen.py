"""Lists, duplicates and version ranges, decided before any plugin code runs."""

from __future__ import annotations

import pytest

from headrace.registry import BackendRegistry, InstalledBackend, State
from headrace.registry.screen import Choice, screen

CPU = InstalledBackend("one", "one_plugin", "headrace-one", "1.0")
GPU = InstalledBackend("two", "two_plugin", "headrace-two", "2.0")
ALL = Choice()


def states(*backends: InstalledBackend, choice: Choice = ALL, core: str = "0.1.0") -> list[str]:
    return [str(record.state) for record in screen(backends, choice, core)]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice(), ["found", "found"]),
        (Choice(allow=frozenset({"one"})), ["found", "blocked"]),
        (Choice(allow=frozenset({"headrace-two"})), ["blocked", "found"]),
        (Choice(block=frozenset({"one"})), ["blocked", "found"]),
        (Choice(block=frozenset({"headrace-two"})), ["found", "blocked"]),
        (Choice(block=frozenset({"Headrace_Two"})), ["found", "blocked"]),
        (Choice(frozenset({"one", "two"}), frozenset({"one"})), ["blocked", "found"]),
        (Choice(allow=frozenset()), ["blocked", "blocked"]),
    ],
)
def test_lists_take_tags_and_distributions(choice: Choice, expected: list[str]) -> None:
    """The block-list wins over the allow-list; an empty allow-list allows nothing."""
    assert states(CPU, GPU, choice=choice) == expected


@pytest.mark.parametrize("text", ["one,two", "one two", " one ,, two "])
def test_lists_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Commas and spaces part names; what the caller gives wins over the environment."""
    monkeypatch.setenv("HEADRACE_BACKENDS", text)
    monkeypatch.setenv("HEADRACE_DISABLE", "three")

    assert Choice.of() == Choice(frozenset({"one", "two"}), frozenset({"three"}))
    assert Choice.of(["four"], []) == Choice(frozenset({"four"}))


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """``HEADRACE_BACKENDS=`` in a script allows all, as if it were absent."""
    monkeypatch.setenv("HEADRACE_BACKENDS", "")
    monkeypatch.setenv("HEADRACE_DISABLE", "")

    assert Choice.of() == Choice()


def test_the_registry_reads_the_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry obeys the environment, and its arguments before it."""
    monkeypatch.setenv("HEADRACE_DISABLE", "two")

    assert [str(r.state) for r in BackendRegistry([CPU, GPU]).records()] == ["found", "blocked"]
    assert [str(r.state) for r in BackendRegistry([CPU, GPU], block=["one"]).records()] == [
        "blocked", "found",
    ]  # fmt: skip


def test_a_blocked_backend_says_which_list() -> None:
    """The record names the variable and what to change."""
    (record,) = screen([CPU], Choice(allow=frozenset({"onne"})), None)

    assert record.cause == "the allow-list HEADRACE_BACKENDS=onne leaves it out"
    assert record.hint == "add one to HEADRACE_BACKENDS"


def test_two_distributions_of_one_tag_are_both_refused() -> None:
    """Neither wins by chance; both are named, with the way to choose."""
    rival = InstalledBackend("one", "rival_plugin", "rival-one", "3.0")

    records = screen([CPU, rival, GPU], ALL, None)

    assert [str(record.state) for record in records] == ["duplicate", "duplicate", "found"]
    assert records[0].cause == "tag 'one' is offered by headrace-one 1.0 and rival-one 3.0"
    assert "HEADRACE_DISABLE=rival-one" in records[0].hint


def test_blocking_one_of_two_leaves_the_other() -> None:
    """The way to choose that the message names does work."""
    rival = InstalledBackend("one", "rival_plugin", "rival-one", "3.0")

    assert states(CPU, rival, choice=Choice(block=frozenset({"rival-one"}))) == ["found", "blocked"]


def test_one_distribution_may_not_offer_a_tag_twice() -> None:
    """Two entry points of one name in one package are a duplicate as well."""
    (record, _) = screen([CPU, CPU], ALL, None)

    assert record.state is State.DUPLICATE
    assert "headrace-one 1.0 (twice)" in record.cause


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("headrace>=0.1,<0.2", "found"),
        ("headrace", "found"),
        ("Headrace >= 0.1", "found"),
        ("headrace>=0.2", "incompatible"),
        ("headrace[onnx]<0.1", "incompatible"),
        ("headrace<0.1 ; python_version < '3'", "found"),
        ("headrace<0.1 ; extra == 'old'", "found"),
        ("headrace >= banana", "incompatible"),
        ("headrace-extras<0.1", "found"),
        ("numpy ??", "found"),
    ],
)
def test_the_required_range_decides(requirement: str, expected: str) -> None:
    """Only requirements on headrace that hold here count; a malformed one is refused."""
    backend = InstalledBackend("one", "one_plugin", "headrace-one", "1.0", (requirement,))

    assert states(backend) == [expected]


def test_an_incompatible_backend_says_both_versions() -> None:
    """What it needs, what there is, and the command that brings them together."""
    backend = InstalledBackend("one", "one_plugin", "headrace-one", "1.0", ("headrace>=9,<10",))

    (record,) = screen([backend], ALL, "0.1.0")

    assert record.cause == "it needs headrace<10,>=9, and this is headrace 0.1.0"
    assert record.hint == "pip install --upgrade headrace headrace-one"


def test_a_pre_release_of_core_is_core() -> None:
    """A developer's version such as 0.2.0.dev1 satisfies a range that holds it."""
    backend = InstalledBackend("one", "one_plugin", "headrace-one", "1.0", ("headrace>=0.1",))

    assert states(backend, core="0.2.0.dev1") == ["found"]


@pytest.mark.parametrize("tag", ["one:0", "1one", "", "o ne"])
def test_a_tag_must_be_writable_as_a_device(tag: str) -> None:
    """``TAG:INDEX`` and placements must be able to name it."""
    (record,) = screen([InstalledBackend(tag, "m", "headrace-one", "1")], ALL, None)

    assert record.state is State.INVALID
    assert "is not a device tag" in record.cause


def test_a_fault_of_the_metadata_is_invalid_and_rivals_nobody() -> None:
    """A damaged rival does not make a whole backend ambiguous."""
    damaged = InstalledBackend("one", "", "headrace-damaged", fault="its metadata cannot be read")

    assert states(CPU, damaged) == ["found", "invalid"]
