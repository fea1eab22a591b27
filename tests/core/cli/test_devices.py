"""``headrace devices`` lists every backend, whatever state it is in."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest
from click.testing import Result
from toy_backends import far, near

from headrace.registry import BackendRegistry, InstalledBackend

Headrace = Callable[..., Result]


@pytest.fixture
def registry() -> BackendRegistry:
    """One backend that works, one that does not import, one that is blocked, and a duplicate."""
    return BackendRegistry(
        [
            InstalledBackend("near", "near_plugin", "headrace-near", "1.2", implementation=near()),
            InstalledBackend("gone", "not_there_at_all", "headrace-gone", "0.1"),
            InstalledBackend("far", "far_plugin", "headrace-far", "3.0", implementation=far()),
            InstalledBackend("twin", "twin_a", "headrace-twin", "1.0"),
            InstalledBackend("twin", "twin_b", "other-twin", "2.0"),
        ],
        allow=["near", "gone", "twin"],
        block=(),
        core_version="0.1.0",
    )


def test_a_table_has_a_row_for_each(headrace: Headrace) -> None:
    """State, package and cause of each, also of what cannot run; the command succeeds."""
    result = headrace("devices")
    heading, _, *rows = (line for line in result.stdout.splitlines() if line.strip())

    assert result.exit_code == 0
    assert heading.split()[:4] == ["device", "state", "package", "devices"]
    assert [row.split()[:2] for row in rows] == [
        ["near", "ready"], ["gone", "import-failed"], ["far", "blocked"], ["twin", "duplicate"],
        ["twin", "duplicate"],
    ]  # fmt: skip
    assert "headrace-near 1.2" in rows[0]
    assert "host" in rows[0]
    assert "5 for 5 ops" in rows[0]
    assert "No module named 'not_there_at_all'. Try: python -c" in rows[1]
    assert "headrace-twin 1.0 and other-twin 2.0" in rows[3]


def test_json_has_everything(headrace: Headrace) -> None:
    """One list, one object for each record, same keys in all."""
    result = headrace("devices", "--json")
    rows = json.loads(result.stdout)
    ready, failed = rows[:2]

    assert len(rows) == 5
    assert len({frozenset(row) for row in rows}) == 1
    assert ready == {
        "tag": "near", "state": "ready", "phase": "count", "distribution": "headrace-near",
        "version": "1.2", "module": "near_plugin", "cause": "", "hint": "", "devices": 2,
        "memory": "host", "kernels": 5, "ops": 5, "api_version": "1.5",
        "capabilities": ["in-place"], "versions": {},
    }  # fmt: skip
    assert (failed["state"], failed["phase"], failed["devices"]) == ("import-failed", "import", 0)
    assert failed["cause"].startswith("ModuleNotFoundError")


def test_what_a_plugin_prints_is_not_in_the_json(
    headrace: Headrace, install: Callable[[BackendRegistry], object]
) -> None:
    """A chatty driver does not break the programs that read the list."""

    def headrace_kernels() -> list[object]:
        sys.stdout.write("hello from the driver\n")
        return []

    from headrace.hookspecs import hookimpl

    chatty = near()
    chatty.headrace_kernels = hookimpl(headrace_kernels)
    install(BackendRegistry.from_modules({"near": chatty}))
    result = headrace("devices", "--json")

    assert [row["state"] for row in json.loads(result.stdout)] == ["ready"]
    assert "hello from the driver" in result.stderr


def test_with_no_backend_it_says_what_to_do(
    headrace: Headrace, install: Callable[[BackendRegistry], object]
) -> None:
    """An empty table would be no help."""
    install(BackendRegistry(()))

    assert headrace("devices").stdout.startswith("no backend is installed. Try: pip install")
    assert json.loads(headrace("devices", "--json").stdout) == []
