"""Strict mode: what is not in the lock, or changed since, does not run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.errors import DeviceUnavailableError, InputError, Reason
from headrace.registry import BackendRegistry
from headrace.registry.discover import discover
from headrace.registry.lock import drift_of, is_strict, lock_of, read_lock, write_lock

Install = Callable[..., str]


def locked(site: Path, folder: Path) -> Path:
    """A lock of what is installed in ``site`` now."""
    path = folder / "my.lock"
    write_lock(map(lock_of, discover([str(site)])), path)
    return path


def registry(site: Path, lock: Path) -> BackendRegistry:
    return BackendRegistry(discover([str(site)]), core_version="0.1", strict=True, lock=lock)


def refusal(site: Path, lock: Path) -> str:
    """What is said of device ``toy``; its code did not run."""
    with pytest.raises(DeviceUnavailableError) as caught:
        registry(site, lock).backend("toy")
    assert caught.value.reason is Reason.BLOCKED
    assert caught.value.hint == f"headrace lock -o {lock}"
    assert not (site / "ran").exists()
    return caught.value.cause


def test_what_is_locked_runs(site: Path, install: Install, tmp_path: Path) -> None:
    """The lock is the same for the same plugins, and holds the hash of every file."""
    module = install(site)
    lock = locked(site, tmp_path)
    assert registry(site, lock).backend("toy").tag == "toy"
    before = lock.read_bytes()
    assert locked(site, tmp_path).read_bytes() == before
    (plugin,) = read_lock(lock)
    assert f"{module}.py" in plugin.files
    assert (plugin.distribution, plugin.version) == ("headrace-toy", "0.3.1")


def test_what_is_not_listed_does_not_run(site: Path, install: Install, tmp_path: Path) -> None:
    """A plugin that was installed after the lock was written."""
    lock = locked(site, tmp_path)
    install(site, source=f"open({str(site / 'ran')!r}, 'w')")
    assert "does not list headrace-toy 0.3.1" in refusal(site, lock)


def test_another_version_does_not_run(site: Path, install: Install, tmp_path: Path) -> None:
    """Both versions are named."""
    install(site, source=f"open({str(site / 'ran')!r}, 'w')")
    lock = locked(site, tmp_path)
    text = lock.read_text("utf-8").replace('"0.3.1"', '"0.3.0"')
    lock.write_text(text, "utf-8")
    assert "lists version 0.3.0, and 0.3.1 is installed" in refusal(site, lock)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda file: file.write_text("open('x')", "utf-8"), "is not the one that"),
        (lambda file: file.unlink(), "is gone"),
    ],
)
def test_a_file_that_changed_is_named(
    site: Path,
    install: Install,
    tmp_path: Path,
    change: Callable[[Path], object],
    says: str,
) -> None:
    """One byte is enough, and so is a file that is no longer there."""
    module = install(site, source=f"open({str(site / 'ran')!r}, 'w')")
    lock = locked(site, tmp_path)
    change(site / f"{module}.py")
    cause = refusal(site, lock)
    assert f"{module}.py" in cause
    assert says in cause


def test_a_file_that_was_added_to_the_package_is_named(
    site: Path, install: Install, tmp_path: Path
) -> None:
    """Code may hide in a file that the package's own list does not have."""
    (site / "headrace_pack").mkdir()
    (site / "headrace_pack/__init__.py").touch()
    install(site)
    (entry,) = site.glob("*.dist-info/entry_points.txt")
    entry.write_text("[headrace.backends]\ntoy = headrace_pack.plugin\n", "utf-8")
    lock = locked(site, tmp_path)
    (site / "headrace_pack/plugin.py").touch()
    assert "headrace_pack/plugin.py is not in" in refusal(site, lock)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "there is no lock at"),
        ("", "is no lock"),
        ("[]", "is no lock"),
        ('{"format": 99}', "is a lock of format 99"),
        ('{"format": 1, "plugins": [{"tag": "toy"}]}', "is no lock"),
    ],
)
def test_without_a_lock_nothing_runs(
    site: Path, install: Install, tmp_path: Path, text: str | None, says: str
) -> None:
    """A lock that is not there, or none, lets nobody in; the command says so too."""
    install(site, source=f"open({str(site / 'ran')!r}, 'w')")
    lock = tmp_path / "my.lock"
    if text is not None:
        lock.write_text(text, "utf-8")
    assert says in refusal(site, lock)
    with pytest.raises(InputError, match=says):
        read_lock(lock)


@pytest.mark.parametrize(("text", "on"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_the_variable_switches_it_on(monkeypatch: pytest.MonkeyPatch, text: str, on: bool) -> None:
    """Empty and 0 are off."""
    monkeypatch.setenv("HEADRACE_STRICT", text)
    assert is_strict() == on


def test_drift_is_told_without_importing(site: Path, install: Install, tmp_path: Path) -> None:
    """An empty text where nothing changed."""
    install(site, source=f"open({str(site / 'ran')!r}, 'w')")
    lock = locked(site, tmp_path)
    (backend,) = discover([str(site)])
    assert drift_of(backend, lock) == ""
    assert not (site / "ran").exists()
    assert json.loads(lock.read_text("utf-8"))["format"] == 1
