"""docs/ablation.md says of each thing that can be taken away what the suite finds."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from plugin_ops import fuse, hello
from toy_backends import FarAllocator, far, near

from headrace.device import (
    AllocatorEntry,
    HostAllocator,
    MemoryKind,
    StreamIndexEntry,
    StreamIndexGenerator,
)
from headrace.hookspecs import hookimpl
from headrace.testing.ablation import ablate, removals


class Turns(StreamIndexGenerator):
    """Numbers every stream itself."""

    def compute(self) -> int:
        return 4

    def h2d(self) -> int:
        return 5

    def d2h(self) -> int:
        return 6

    def named(self, name: str) -> int:
        return 7


def far_in_turns() -> Any:
    """The backend ``far`` with numbers of streams of its own, and pinned memory."""
    memory = AllocatorEntry("far", MemoryKind.DEVICE, 16, FarAllocator, HostAllocator)
    more = {
        "headrace_stream_index_generators": hookimpl(lambda: [StreamIndexEntry("far", Turns)]),
        "headrace_allocators": hookimpl(lambda: [memory]),
    }
    return SimpleNamespace(**vars(far()) | more)


BACKENDS: dict[str, Any] = {"near": near(), "far": far_in_turns(), "hello": hello(fuse)}
ROW = re.compile(r"^\| `([\w.]+)` \| ([a-z ]+) \| (.*) \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)
ABSENT = "-"


@pytest.fixture(scope="module")
def rows(root: Path) -> dict[tuple[str, str], tuple[list[str], str]]:
    """(thing, way) to what the page says of each backend, and of the default."""
    page = (root / "docs/ablation.md").read_text("utf-8")
    found = ROW.findall(page)
    assert len(found) == sum(line.startswith("| `") for line in page.splitlines())
    table = {(name, way): ([*outcomes], default) for name, way, *outcomes, default in found}
    assert len(table) == len(found), "a row is there twice"
    return table


def test_every_removal_has_a_row(rows: dict[tuple[str, str], Any]) -> None:
    """And no row is about something that nobody takes away."""
    taken = {(r.name, r.way) for plugin in BACKENDS.values() for r in removals(plugin)}
    assert rows.keys() == taken


@pytest.mark.parametrize("index", range(len(BACKENDS)), ids=BACKENDS)
def test_the_page_says_what_the_suite_finds(
    rows: dict[tuple[str, str], tuple[list[str], str]], index: int
) -> None:
    """Of each backend; what it does not have is a dash."""
    tag, plugin = list(BACKENDS.items())[index]
    found = {(r.name, r.way): ablate(tag, plugin, r).outcome for r in removals(plugin)}
    assert {key: outcomes[index] for key, (outcomes, _) in rows.items()} == {
        key: found.get(key, ABSENT) for key in rows
    }


def test_a_default_is_documented(rows: dict[tuple[str, str], tuple[list[str], str]]) -> None:
    """Where something may be missing the page says what happens then; else there is no default."""
    for key, (outcomes, default) in rows.items():
        harmless = {"default", "same"} & set(outcomes)
        assert bool(default.strip("- ")) == bool(harmless), key
