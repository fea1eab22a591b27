"""No launch of the extension allocates: what it needs is made when it is bound, or planned."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPILER = shutil.which("cc")


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a sanitizer must be loaded first")
@pytest.mark.skipif(COMPILER is None, reason="what counts is built by a compiler of C")
def test_launches_allocate_nothing(tmp_path: Path) -> None:
    """Of every kernel, on every case of the suite, after the first time."""
    counter = tmp_path / "count_allocations.so"
    source = HERE / "count_allocations.c"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", source, "-o", counter], check=True)
    done = subprocess.run(
        [sys.executable, HERE / "allocations.py", counter],
        env={**os.environ, "LD_PRELOAD": str(counter)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    seen = json.loads(done.stdout)
    assert seen["allocating"] == {}
    assert {"add", "cpu.conv", "avg_pool", "lstm", "softmax"} <= seen["launches"].keys()
