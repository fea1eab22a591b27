"""Errors are one line and an exit code; help is fast."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import headrace as flow
from headrace.cli.group import ErrorGroup
from headrace.errors import (
    DeviceError,
    DeviceUnavailableError,
    HeadraceError,
    InputError,
    InvalidModelError,
    OutOfMemoryError,
    PlacementError,
    PluginError,
    Reason,
    RunError,
    UnsupportedError,
)


@pytest.fixture
def raising() -> Callable[..., Result]:
    """Runs a command that raises the given exception."""

    def invoke(error: BaseException, *words: str) -> Result:
        @click.group(cls=ErrorGroup)
        @click.option("--traceback", is_flag=True, envvar="HEADRACE_TRACEBACK")
        def group(traceback: bool) -> None: ...

        @group.command()
        def fail() -> None:
            raise error

        return CliRunner().invoke(group, [*words, "fail"])

    return invoke


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (InputError, 2), (InvalidModelError, 2), (PlacementError, 2),
        (PluginError, 1), (OutOfMemoryError, 1), (UnsupportedError, 1), (RunError, 1),
        (DeviceError, 1), (HeadraceError, 1),
    ],
)  # fmt: skip
def test_an_error_is_one_line_and_a_code(
    raising: Callable[..., Result], kind: type[HeadraceError], code: int
) -> None:
    """2 for what the user typed or handed over, 1 for all else; nothing on stdout, no traceback."""
    result = raising(kind("what happened\n  and where"))

    assert result.exit_code == code
    assert result.stderr == "error: what happened and where\n"
    assert result.stdout == ""


@pytest.mark.parametrize("reason", list(Reason))
def test_a_device_that_was_misspelt_is_bad_input(
    raising: Callable[..., Result], reason: Reason
) -> None:
    """2 where another word would help; 1 where the machine has to change."""
    result = raising(DeviceUnavailableError("gone", tag="toy", reason=reason))
    misspelt = reason in ("not-installed", "no-such-index")
    assert result.exit_code == (2 if misspelt else 1)


def test_the_line_is_red_on_a_terminal() -> None:
    """Colour is for terminals; CliRunner strips it otherwise, as a pipe would.

    What a plugin's error says to the terminal is shown, not done.
    """

    @click.group(cls=ErrorGroup)
    def group() -> None: ...

    @group.command()
    def fail() -> None:
        raise RunError("gone \x1b[2J")

    result = CliRunner().invoke(group, ["fail"], color=True)

    assert result.stderr == "\x1b[31merror: gone \\x1b[2J\x1b[0m\n"


@pytest.mark.parametrize("by_variable", [False, True])
def test_a_traceback_is_shown_when_asked_for(
    raising: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, by_variable: bool
) -> None:
    """``--traceback`` and ``HEADRACE_TRACEBACK=1`` let the exception through."""
    error = RunError("gone")
    if by_variable:
        monkeypatch.setenv("HEADRACE_TRACEBACK", "1")
        result = raising(error)
    else:
        monkeypatch.delenv("HEADRACE_TRACEBACK", raising=False)
        result = raising(error, "--traceback")

    assert result.exception is error


def test_ctrl_c_ends_with_130(raising: Callable[..., Result]) -> None:
    """As shells report a program that SIGINT ended; no traceback."""
    result = raising(KeyboardInterrupt())

    assert result.exit_code == 130
    assert result.stderr == "interrupted\n"


def test_a_bug_is_not_hidden(raising: Callable[..., Result]) -> None:
    """What is no HeadraceError is a bug, and its traceback is needed."""
    error = ZeroDivisionError()

    assert raising(error).exception is error


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["runn"], "error: no such command 'runn'"),
        (["--quick"], "error: no such option '--quick' (see "),
        (["run", "--quick"], "error: no such option '--quick' (see "),
        (["run"], "error: missing argument 'MODEL' (see "),
    ],
)
def test_a_wrong_command_line_is_one_line(
    headrace: Callable[..., Result], words: list[str], says: str
) -> None:
    """As any other error, with code 2, and where to read what there is."""
    result = headrace(*words)

    assert result.exit_code == 2
    assert result.stderr.startswith(says)
    assert result.stderr.count("\n") == 1


def test_help_names_every_command_and_loads_nothing_heavy(tmp_path: Path) -> None:
    """``headrace --help`` imports neither onnx nor rich, and no backend."""
    code = (
        "import json, sys\nfrom headrace.cli import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    *text, modules = done.stdout.splitlines()
    assert all(f"  {name} " in "\n".join(text) for name in ("demo", "devices", "plan", "run"))
    loaded = set(json.loads(modules))
    assert "click" in loaded
    assert not {"onnx", "rich"} & loaded
    assert not {name for name in loaded if name.startswith("headrace_")}


def test_python_dash_m_is_the_command(tmp_path: Path) -> None:
    """``python -m headrace`` behaves and calls itself like ``headrace``."""
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == f"headrace, version {flow.__version__}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_line() -> None:
    """Output that cannot be written is an error of the command, told on stderr."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "headrace", "devices"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: cannot write: ")
    assert len(done.stderr.splitlines()) == 1
