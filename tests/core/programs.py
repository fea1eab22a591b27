"""A program in an interpreter of its own, which finds the modules that tests share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LIMIT_SECONDS = 60


def output(program: str, *arguments: str) -> tuple[str, str, int]:
    """What a program prints and reports, and its exit code."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={"PYTHONPATH": ":".join([str(Path(__file__).parent), *sys.path])},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    return done.stdout, done.stderr, done.returncode
