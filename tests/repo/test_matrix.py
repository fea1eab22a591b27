"""The page that lists the environments is what tox lists."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_page_lists_every_environment(root: Path) -> None:
    """`python tools/matrix.py` writes it."""
    command = [sys.executable, str(root / "tools/matrix.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
