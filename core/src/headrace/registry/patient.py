"""One backend in a child process: started, waited for, and read."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from headrace.light_dataclass import dataclass
from headrace.registry.discover import InstalledBackend
from headrace.registry.record import BackendRecord, closer_look

LONGEST_DETAIL = 4000
"""Bytes of what a plugin printed that are kept: the end, where the trouble is."""

START = """
import json, sys
request, progress = sys.argv[1:]
with open(request, encoding="utf-8") as file:
    sys.path[:] = json.load(file)["path"]
from headrace.doctor.probe import main
main(request, progress)
"""
"""The child looks for modules where its parent does: not in the current folder, which ``-m`` would
put first, and where a stray ``numpy.py`` passes for a broken backend."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of probing one backend.

    Attributes:
        outcome: ``passed``, ``failed`` (it raised, or broke the contract), ``signal``, ``exit`` or
            ``hang``; or ``not-run``, when nothing of it may run.
        phase: the last that was begun.
        state: how far the backend got, as a record's state.
        cause, hint: as in a record.
        devices: how many there are; 0 when it did not get that far.
        seconds: how long the probe took.
        detail: the end of what was printed on stderr.
    """

    outcome: str
    phase: str
    state: str
    cause: str
    hint: str
    devices: int = 0
    seconds: float = 0.0
    detail: str = ""

    @property
    def ended_the_process(self) -> bool:
        """True when a program that loads this backend would be gone.

        A probe that did not get as far as the backend's own code says nothing against it.
        """
        return self.outcome in ("signal", "exit", "hang") and self.phase != "start"


class Patient:
    """A running probe. ``wait`` or ``stop`` must be called."""

    def __init__(
        self,
        installed: InstalledBackend,
        record: BackendRecord,
        folder: Path,
        *,
        loads_only: bool = False,
    ) -> None:
        """Start the probe.

        Args:
            installed: what is probed.
            record: what is known of it.
            folder: where the probe's files lie; empty, and its own.
            loads_only: it loads the backend and does nothing with it.

        Raises:
            OSError: no process can be had, or no file.
        """
        self._record = record
        self._progress = folder / "progress"
        self._printed = folder / "stderr"
        request = folder / "request.json"
        asked = {
            "backend": installed._asdict() | {"implementation": None},
            "path": sys.path,
            "loads_only": loads_only,
        }
        request.write_text(json.dumps(asked), "utf-8")
        self._started = time.monotonic()
        with self._printed.open("wb") as printed:
            self._child = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", "-c", START,
                 str(request), str(self._progress)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=printed,
                start_new_session=True,  # so that what it starts can be ended with it
            )  # fmt: skip

    def stop(self) -> int:
        """End it and what it started, if they have not ended; its exit code."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, signal.SIGKILL)
        self._child.kill()
        return self._child.wait()

    def wait(self, limit_seconds: float) -> Finding:
        """What came of it, at the latest ``limit_seconds`` after it was started."""
        hung = False
        try:
            self._child.wait(max(0.0, self._started + limit_seconds - time.monotonic()))
        except subprocess.TimeoutExpired:
            hung = True
        finally:
            code = self.stop()
        said = self._said()
        phase = str(said.get("phase", "start"))
        seconds = round(time.monotonic() - self._started, 3)
        if hung:
            outcome, cause = "hang", f"no answer within {limit_seconds:g} s"
        elif code < 0:
            outcome, cause = "signal", f"signal {signal_name(-code)} ended the process"
        elif code == 0 and said.get("done"):
            outcome, cause = "passed", ""
        elif code == 0 and "state" in said:
            outcome, cause = "failed", str(said["cause"])
        else:
            outcome, cause = "exit", f"the process ended with exit code {code}"
        if phase == "start" and outcome != "failed":
            cause = f"the probe did not get as far as the backend: {cause}"
        return Finding(
            outcome,
            phase,
            _state(outcome, phase, said),
            cause,
            _hint(outcome, phase, said, self._record),
            int(str(said.get("devices", 0))),
            seconds,
            self._detail(),
        )

    def _said(self) -> dict[str, object]:
        """All that the child said, later lines over earlier ones."""
        said: dict[str, object] = {}
        with contextlib.suppress(OSError):
            for line in self._progress.read_text("utf-8", "replace").splitlines():
                with contextlib.suppress(ValueError):
                    said |= json.loads(line)
        return said

    def _detail(self) -> str:
        try:
            with self._printed.open("rb") as file:
                file.seek(max(0, self._printed.stat().st_size - LONGEST_DETAIL))
                return file.read(LONGEST_DETAIL).decode("utf-8", "replace").strip()
        except OSError:
            return ""


def _state(outcome: str, phase: str, said: dict[str, object]) -> str:
    if outcome == "passed":
        return "ready"
    if outcome == "failed":
        return str(said["state"])
    return "import-failed" if phase in ("start", "import") else "invalid"


def _hint(outcome: str, phase: str, said: dict[str, object], record: BackendRecord) -> str:
    if outcome == "passed":
        return ""
    if said.get("hint") == closer_look(record.tag):  # this is it
        return f"HEADRACE_DISABLE={record.tag}, where there is to be no such device"
    if said.get("hint"):
        return str(said["hint"])
    if outcome == "failed":
        return f"pip install --upgrade headrace {record.distribution}".rstrip()
    if phase == "start":
        return f"headrace doctor {record.tag} --timeout 300"
    return f"headrace doctor --clear {record.tag}"


def signal_name(number: int) -> str:
    """A signal as people know it: ``SIGSEGV``."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
