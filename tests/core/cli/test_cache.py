"""``headrace cache``: what is kept on disk is listed, and removed when asked."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from onnx import ModelProto
from onnx_models import info, model, node

Headrace = Callable[..., Result]
Save = Callable[[ModelProto], Path]

OPEN = model([node("Add", "x x", "y")], [info("x", ["n", 3])])


@pytest.fixture
def plans(headrace: Headrace, save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with plans of ``OPEN`` for one and for two rows, the latter used last."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HEADRACE_PLAN_CACHE", "")
    # Backends of tests are no packages: nothing would be kept of them.
    monkeypatch.setattr("headrace.onnx.kept.identity_of", lambda *_: "this code")
    path = save(OPEN)
    for rows in (1, 2):
        words = ("--device", "near:1", "--dim", f"n={rows}", "--random-inputs", 0)
        assert headrace("run", path, *words).exit_code == 0
        for kept in (tmp_path / "cache/plans").iterdir():
            age = kept.stat().st_mtime - 100
            os.utime(kept, (age, age))
    return tmp_path / "cache/plans"


def test_plans_are_listed_the_latest_used_first(headrace: Headrace, plans: Path) -> None:
    """With what they are for, and where they are."""
    done = headrace("cache")
    assert done.exit_code == 0, done.output
    first, second, total = done.stdout.splitlines()[2:]
    assert first.split()[:5] == ["model.onnx", "near:1", "x:", "float32[2,", "3]"]
    assert second.split()[:5] == ["model.onnx", "near:1", "x:", "float32[1,", "3]"]
    size = sum(path.stat().st_size for path in plans.iterdir())
    assert total == f"2 plans in {plans}: {size:,} bytes, at most 1,073,741,824"


def test_a_plan_that_is_damaged_is_listed_as_such(headrace: Headrace, plans: Path) -> None:
    """It is neither an error nor removed: whoever wants it makes it again."""
    path = min(plans.glob("*.plan"))
    path.write_bytes(path.read_bytes()[:-1])
    done = headrace("cache")
    assert done.exit_code == 0, done.output
    assert "is damaged or cut short" in done.stdout
    assert path.exists()


def test_plans_are_removed_when_asked(headrace: Headrace, plans: Path) -> None:
    """And nothing that somebody else put there."""
    (plans / "notes.txt").write_text("mine")
    done = headrace("cache", "--clear")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("removed 2 plans of ")
    assert [path.name for path in plans.iterdir()] == ["notes.txt"]
    assert headrace("cache").stdout == f"0 plans in {plans}: 0 bytes, at most 1,073,741,824\n"


def test_no_folder_is_no_plans(
    headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is made by asking; that the cache is off is said."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "absent"))
    monkeypatch.setenv("HEADRACE_PLAN_CACHE", "0")
    done = headrace("cache")
    assert "switched off by HEADRACE_PLAN_CACHE=0" in done.stdout
    assert headrace("cache", "--clear").stdout.startswith("removed 0 plans of 0 bytes")
    assert not (tmp_path / "absent").exists()


def test_what_cannot_be_removed_is_an_error(
    headrace: Headrace, plans: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line that says which file, and what to do."""

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    done = headrace("cache", "--clear")
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert f"files in {plans} cannot be removed" in line
    assert line.endswith("Try: delete the folder as a user who may")


def test_a_size_that_is_no_number_is_refused(
    headrace: Headrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where models are loaded."""
    monkeypatch.setenv("HEADRACE_PLAN_CACHE", "1 GB")
    done = headrace("cache")
    assert done.exit_code == 2
    assert "HEADRACE_PLAN_CACHE is '1 GB'; it must be 0 for no cache" in done.stderr
