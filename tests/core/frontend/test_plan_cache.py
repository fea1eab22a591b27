"""What tells code apart: the text that plans are kept under."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.frontend.plan_cache import identity, identity_of
from headrace.registry.discover import InstalledBackend
from headrace.registry.registry import BackendRegistry

PLUGIN = "import toy_backends\nglobals().update(vars(toy_backends.near()))\n"

Identity = Callable[[], str | None]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an installed plugin, within reach of an import."""
    folder = tmp_path / "headrace_toy_near"
    (folder / "kernels").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "plugin.py").write_text(PLUGIN)
    (folder / "kernels/native.so").write_bytes(b"machine code")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


@pytest.fixture
def asked(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Identity]:
    """The identity as a process that starts now would see it."""

    def ask() -> str | None:
        identity._code.cache_clear()
        monkeypatch.setattr("headrace.IMPORTED_NS", 1 << 62)
        module = f"{package.name}.plugin"
        plugin = InstalledBackend("near", module, "headrace-near", "1.0", ("headrace",))
        return identity_of(BackendRegistry([plugin], allow=None, block=()), ["near"])

    yield ask
    identity._code.cache_clear()
    for name in [name for name in sys.modules if name.startswith(package.name)]:
        del sys.modules[name]


def test_the_same_code_has_the_same_identity(asked: Identity) -> None:
    """It does not depend on what was imported or asked before."""
    first = asked()
    assert first is not None
    assert asked() == first


@pytest.mark.parametrize("file", ["plugin.py", "kernels/native.so"])
def test_an_edit_in_place_changes_it(asked: Identity, package: Path, file: str) -> None:
    """Also one that keeps the length and sets the time of modification back."""
    before = asked()
    path = package / file
    status = path.stat()
    path.write_bytes(path.read_bytes().swapcase())
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert asked() not in (before, None)


def test_a_new_file_changes_it(asked: Identity, package: Path) -> None:
    """Whatever it is called; what Python makes of sources while it runs does not count."""
    before = asked()
    (package / "__pycache__").mkdir(exist_ok=True)
    (package / "__pycache__/plugin.pyc").write_bytes(b"")
    assert asked() == before
    (package / "kernels/table.json").write_text("{}")
    assert asked() not in (before, None)


def test_code_that_changed_while_the_process_ran_has_none(
    asked: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was imported may be older than what is there."""
    assert asked() is not None
    identity._code.cache_clear()
    monkeypatch.setattr("headrace.IMPORTED_NS", 0)
    plugin = InstalledBackend("near", "headrace_toy_near.plugin", "headrace-near", "1.0")
    assert identity_of(BackendRegistry([plugin], allow=None, block=()), ["near"]) is None


def test_a_backend_that_is_no_package_has_none(registry: BackendRegistry) -> None:
    """Nothing is known of where its code is."""
    assert identity_of(registry, ["near"]) is None


@pytest.mark.parametrize(
    ("name", "differs"),
    [
        ("HEADRACE_NEAR_SETTING", True),
        ("HEADRACE_VERIFY", True),
        ("HEADRACE_TRACEBACK", False),
        ("HEADRACE_CACHE", False),
        ("HOME", False),
    ],
)
def test_variables_that_may_change_a_plan_change_it(
    asked: Identity, monkeypatch: pytest.MonkeyPatch, name: str, differs: bool
) -> None:
    """All of headrace and of its backends, but those that are known to have no effect on plans."""
    before = asked()
    monkeypatch.setenv(name, "/some/value")
    assert (asked() != before) is differs
