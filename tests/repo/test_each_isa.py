"""A command is run on every instruction set that the machine has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ON_A_MACHINE = """
import runpy, sys, types
sys.modules["headrace_cpu"] = types.SimpleNamespace(
    _native=types.SimpleNamespace(isas=lambda: {isas}, isa=lambda: {isas}[-1])
)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
ASK = """
import os, sys
print(os.environ["HEADRACE_CPU_ISA"], flush=True)
sys.exit({"baseline": 0, "neon_dot": 3, "sve2": 0}[os.environ["HEADRACE_CPU_ISA"]])
"""


def test_all_are_run_newest_first(root: Path) -> None:
    """Whatever a machine calls them; what failed on one of them is told at the end."""
    code = ON_A_MACHINE.format(isas=["baseline", "neon_dot", "sve2"])
    command = [sys.executable, "-c", ASK]
    done = subprocess.run(
        [sys.executable, "-c", code, str(root / "tools/each_isa.py"), *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    told = [line for line in done.stdout.split() if "=" not in line]
    assert told == ["sve2", "neon_dot", "baseline"]
