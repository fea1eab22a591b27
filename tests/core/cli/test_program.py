"""``headrace run PROGRAM.py``: jobs that name no device go where the command says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Headrace = Callable[..., Result]

PROGRAM = """
import sys
import numpy as np
import headrace as flow
import headrace.typing as tp
from headrace.registry import default_registry

with flow.Session(default_registry()) as session:
    @flow.global_function(session=session)
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        return flow.relu(x)
    print(job(np.array([-1, 2], np.float32)), flow.default_device(), *sys.argv[1:])
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that runs a job and prints its result, the default device and its arguments."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, "utf-8")
    return path


@pytest.mark.parametrize("device", ["near:1", "far:0"])
def test_a_program_runs_on_the_device(headrace: Headrace, program: Path, device: str) -> None:
    """Its jobs, its arguments, its output; and afterwards the process is as before."""
    before = list(sys.argv), list(sys.path)
    result = headrace("run", program, "--device", device, "--", "--flag", "word")
    assert result.exit_code == 0, result.output
    tag, index = device.split(":")
    assert result.stdout == f"[0. 2.] {tag} 0:{index} --flag word\n"
    assert (sys.argv, sys.path) == before


def test_a_device_that_is_not_there_is_said_before_the_program_runs(
    headrace: Headrace, program: Path
) -> None:
    """Half a program would be worse."""
    program.write_text("print('ran')", "utf-8")
    result = headrace("run", program, "--device", "nowhere")
    assert result.exit_code == 2
    assert "nowhere" in result.stderr
    assert "ran" not in result.stdout


def test_the_exit_code_is_the_program_s(headrace: Headrace, program: Path) -> None:
    """``sys.exit`` of the program ends the command with its code."""
    program.write_text("raise SystemExit(7)", "utf-8")
    assert headrace("run", program, "--device", "near").exit_code == 7


@pytest.mark.parametrize("options", [("--dim", "x=1"), ("--random-inputs", "0")])
def test_options_of_models_are_refused(
    headrace: Headrace, program: Path, options: tuple[str, ...]
) -> None:
    """They would do nothing."""
    result = headrace("run", program, "--device", "near", *options)
    assert result.exit_code == 2
    assert "a program takes --device" in result.stderr
