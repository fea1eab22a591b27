"""``headrace new-backend``: names, and what is written. tests/hello builds and runs it."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from headrace import scaffold
from headrace.errors import InputError

Headrace = Callable[..., Result]


@pytest.mark.parametrize("native", [False, True])
def test_nothing_is_left_to_fill_in(native: bool, tmp_path: Path) -> None:
    """Every word between @ is replaced, in paths as well, and Python and TOML parse."""
    target = scaffold.new_backend("my-chip", tmp_path, native=native)
    assert target == tmp_path / "headrace-my-chip"
    for path in target.rglob("*"):
        assert "@" not in path.name
        text = path.read_text("utf-8") if path.is_file() else ""
        assert not re.search(r"@[A-Z]+@", text), path
        if path.suffix in (".py", ".pyi"):
            ast.parse(text)
    project = tomllib.loads((target / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"] == "headrace-my-chip"
    assert project["entry-points"] == {"headrace.backends": {"my-chip": "headrace_my_chip.plugin"}}
    assert (target / "src/headrace_my_chip/py.typed").is_file()


def test_hello_is_twenty_lines_in_one_file(tmp_path: Path) -> None:
    """A whole device: lines that are neither blank nor comments, docstrings included."""
    package = scaffold.new_backend("hello", tmp_path) / "src/headrace_hello"
    assert sorted(path.name for path in package.iterdir()) == [
        "__init__.py", "plugin.py", "py.typed",
    ]  # fmt: skip
    lines = (package / "plugin.py").read_text("utf-8").splitlines()
    counted = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    assert len(counted) <= 20


@pytest.mark.parametrize(
    "name", ["", "-x", "x-", "Chip", "9x", "a b", "a/b", "../x", "ü", "a\nb", "_x", "a.b", "a" * 65]
)
def test_a_name_that_is_none_writes_nothing(name: str, tmp_path: Path) -> None:
    """It would not be a device tag, a distribution and a module all at once."""
    with pytest.raises(InputError, match="cannot name a package of a device"):
        scaffold.new_backend(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_importable_package_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever types the name of a backend that is installed gets told, not a second one."""
    (tmp_path / "headrace_taken").mkdir()
    (tmp_path / "headrace_taken/__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="headrace_taken"):
        scaffold.new_backend("taken", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_what_is_there_stays(tmp_path: Path, headrace: Headrace) -> None:
    """A second time is refused, and the files of the first are as they were."""
    first = headrace("new-backend", "hello", "--dir", tmp_path)
    assert first.exit_code == 0, first.output
    plugin = tmp_path / "headrace-hello/src/headrace_hello/plugin.py"
    plugin.write_text("changed", "utf-8")
    again = headrace("new-backend", "hello", "--dir", tmp_path)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert plugin.read_text("utf-8") == "changed"
    assert [path.name for path in tmp_path.iterdir()] == ["headrace-hello"]


def test_the_command_says_what_it_wrote_and_what_is_next(
    tmp_path: Path, headrace: Headrace
) -> None:
    """Each file on a line, then one command."""
    result = headrace("new-backend", "flint", "--native", "--dir", tmp_path)
    *files, hint = result.stdout.splitlines()
    assert result.exit_code == 0
    assert all(Path(line).is_file() for line in files)
    assert f"{tmp_path}/headrace-flint/csrc/add.cpp" in files
    assert hint == f"next: pip install {tmp_path}/headrace-flint && headrace doctor flint"


def test_what_is_next_installs_the_folder_and_asks_no_index(
    tmp_path: Path, headrace: Headrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative folder begins with a dot, since pip takes a bare name for one of its index."""
    monkeypatch.chdir(tmp_path)
    hint = headrace("new-backend", "flint").stdout.splitlines()[-1]
    assert hint == "next: pip install ./headrace-flint && headrace doctor flint"


def test_what_is_next_can_be_typed_when_the_folder_has_blanks(
    tmp_path: Path, headrace: Headrace
) -> None:
    """A shell takes the folder for one word."""
    folder = tmp_path / "my devices"
    hint = headrace("new-backend", "flint", "--dir", folder).stdout.splitlines()[-1]
    install, _, _ = hint.removeprefix("next: ").partition(" && ")
    assert shlex.split(install) == ["pip", "install", f"{folder}/headrace-flint"]
