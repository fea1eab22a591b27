"""Whether headrace and what it needs can be imported: tried in child processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable

from headrace.registry.patient import signal_name

SELF = "headrace.doctor.probe, headrace.testing.opened"
"""What a probe imports before it comes to the backend."""

_MODULES = {"headrace": SELF, "protobuf": "google.protobuf"}
"""What to import of a distribution whose module is called otherwise."""

_TRY = """
import json, os, sys
sys.path[:] = json.loads(sys.argv[1])
try:
    import {modules}
    cause = ""
except BaseException as error:
    cause = f"{{type(error).__name__}}: {{' '.join(str(error).split())}}"[:2000]
os.write(1, b"\\n" + json.dumps([cause]).encode())
os._exit(0)
"""


def import_faults(distributions: Iterable[str], limit_seconds: float) -> dict[str, str]:
    """Why a distribution cannot be imported, by its name; what can be is not there.

    All are tried in one process. Only where that fails is each tried in a process of its own: a
    native library that is broken may end the process, and leave the others unexamined.
    """
    names = tuple(distributions)
    if not _cause(", ".join(map(_module, names)), limit_seconds):
        return {}
    causes = {name: _cause(_module(name), limit_seconds) for name in names}
    return {name: cause for name, cause in causes.items() if cause}


def _module(distribution: str) -> str:
    return _MODULES.get(distribution, distribution.replace("-", "_"))


def _cause(modules: str, limit_seconds: float) -> str:
    """Why ``modules`` cannot be imported; empty when they can."""
    command = [sys.executable, "-c", _TRY.format(modules=modules), json.dumps(sys.path)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limit_seconds,
            env={**os.environ, "PYTHONIOENCODING": "utf-8:replace"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {limit_seconds:g} s"
    if done.returncode < 0:
        return f"signal {signal_name(-done.returncode)} ended the process"
    try:
        (cause,) = json.loads(done.stdout.splitlines()[-1])  # before it: what modules print
    except (ValueError, IndexError):
        return f"the process ended with exit code {done.returncode}"
    return str(cause)
