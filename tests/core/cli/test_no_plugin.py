"""Core alone, with no backend installed, as environment `core` of the matrix has it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.registry.discover import discover

pytestmark = pytest.mark.skipif(bool(discover()), reason="backends are installed here")

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/add.py"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headrace", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_is_missing_is_said() -> None:
    """Asking for any device, the host's included, says what to install."""
    for words, tag in (
        (("run", str(EXAMPLE)), "cpu"),
        (("run", "--device", "x", str(EXAMPLE)), "x"),
    ):
        done = run(*words)
        assert done.returncode == 2
        assert done.stderr == (
            f"error: no backend {tag!r}; no backend is installed. Try: pip install headrace-{tag}\n"
        )


def test_looking_is_no_error() -> None:
    """There is nothing to list, and nothing that is sick."""
    hint = "no backend is installed. Try: pip install headrace-cpu\n"
    devices, doctor = run("devices"), run("doctor")
    assert (devices.returncode, devices.stdout) == (0, hint)
    assert doctor.returncode == 0
    assert hint in doctor.stdout
    assert doctor.stdout.splitlines()[-1] == "healthy"
