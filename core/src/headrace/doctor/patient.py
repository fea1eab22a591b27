"""One backend in a child process: started, waited for, and read."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from headrace.registry import BackendRecord, InstalledBackend

LONGEST_DETAIL = 4000
"""Characters of what a plugin printed that are kept: the end, where the trouble is."""


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
        """True when a program that loads this backend would be gone."""
        return self.outcome in ("signal", "exit", "hang")


class Patient:
    """A running probe. ``wait`` must be called."""

    def __init__(self, installed: InstalledBackend, record: BackendRecord, folder: Path) -> None:
        """Start the probe; its files lie in ``folder``, which is empty and its own."""
        self._record = record
        self._progress = folder / "progress"
        self._printed = folder / "stderr"
        request = folder / "request.json"
        fields = asdict(installed) | {"implementation": None}
        request.write_text(json.dumps(fields), "utf-8")
        self._started = time.monotonic()
        with self._printed.open("wb") as printed:
            self._child = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", "-m", "headrace.doctor.probe",
                 str(request), str(self._progress)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=printed,
            )  # fmt: skip

    def wait(self, limit_seconds: float) -> Finding:
        """What came of it, at the latest ``limit_seconds`` after it was started."""
        hung = False
        try:
            self._child.wait(max(0.0, self._started + limit_seconds - time.monotonic()))
        except subprocess.TimeoutExpired:
            hung = True
        finally:
            self._child.kill()
            code = self._child.wait()
        said = self._said()
        phase = str(said.get("phase", "start"))
        seconds = round(time.monotonic() - self._started, 3)
        if hung:
            outcome, cause = "hang", f"no answer within {limit_seconds:g} s"
        elif code < 0:
            outcome, cause = "signal", f"signal {_signal_name(-code)} ended the process"
        elif said.get("done"):
            outcome, cause = "passed", ""
        elif "state" in said:
            outcome, cause = "failed", str(said["cause"])
        else:
            outcome, cause = "exit", f"the process ended with exit code {code}"
        return Finding(
            outcome,
            phase,
            _state(outcome, phase, said),
            cause,
            _hint(outcome, said, self._record),
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
            return self._printed.read_bytes().decode("utf-8", "replace")[-LONGEST_DETAIL:].strip()
        except OSError:
            return ""


def _state(outcome: str, phase: str, said: dict[str, object]) -> str:
    if outcome == "passed":
        return "ready"
    if outcome == "failed":
        return str(said["state"])
    return "import-failed" if phase in ("start", "import") else "invalid"


def _hint(outcome: str, said: dict[str, object], record: BackendRecord) -> str:
    if outcome == "passed":
        return ""
    if said.get("hint"):
        return str(said["hint"])
    if outcome == "failed":
        return f"pip install --upgrade headrace {record.distribution}".rstrip()
    return f"headrace doctor --clear {record.tag}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
