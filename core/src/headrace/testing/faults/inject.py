"""Puts a broken backend beside the installed ones and looks at who is harmed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.testing.faults.catalogue import DISTRIBUTION, TAG, VERSION, Fault

HANG_SECONDS = 4.0
"""After how long doctor gives a backend up, here; one that works needs a tenth of it."""

LONGEST_SECONDS = 120.0

LONGEST_CAUSE = 4000
"""Characters that somebody can be asked to read."""

PROGRAM = """
import json, sys
import numpy as np
import headrace as flow
import headrace.typing as tp
from headrace.errors import HeadraceError
from headrace.registry import default_registry

device, ask = sys.argv[1:]

@flow.global_function()
def add(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
    with flow.scope.placement(device, "0:0"):
        return flow.add(x, x)

def adds():
    return add(np.array([1, 2, 3], np.float32)).tolist() == [2, 4, 6]

said = {"before": adds()}
if ask == "ask":
    try:
        default_registry().backend("broken")
        said["asked"] = {"reason": "ready"}
    except HeadraceError as error:
        said["asked"] = {"kind": type(error).__name__, "text": str(error)} | {
            name: str(getattr(error, name, ""))
            for name in ("reason", "distribution", "version", "phase", "cause", "hint")
        }
said["after"] = adds()
print("@@" + json.dumps(said))
"""


@dataclass(frozen=True, slots=True)
class Injection:
    """What came of one fault: each complaint is a sentence; none means that nobody was harmed."""

    fault: Fault
    complaints: tuple[str, ...]


def inject(fault: Fault, device: str = "cpu") -> Injection:
    """Install ``fault`` for two child processes and judge what they do.

    One runs a job on ``device`` before and after it asks for the broken device; the other is
    ``headrace doctor``.

    Args:
        fault: what to install.
        device: tag of a backend that works, for the job.
    """
    with tempfile.TemporaryDirectory(prefix="headrace-fault-") as scratch:
        folder = Path(scratch) / "site"
        folder.mkdir()
        fault.write(folder)
        environment = _environment(folder, Path(scratch) / "state")
        # A process that would end is not asked to load it: that is what doctor is for.
        ask = "leave" if fault.ends_process else "ask"
        program = _start(["-c", PROGRAM, device, ask], environment)
        doctor = _start(
            ["-m", "headrace", "doctor", TAG, "--json", "--timeout", str(HANG_SECONDS)],
            environment | {"HEADRACE_STATE": str(Path(scratch) / "doctor-state")},
        )
        complaints = [*_judge_program(fault, program), *_judge_doctor(fault, doctor)]
        if not fault.may_run and (folder / "ran").exists():
            complaints.append("its code ran, and must not have")
    return Injection(fault, tuple(complaints))


def _environment(folder: Path, state: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")}
    path = os.pathsep.join(filter(None, (str(folder), ours.get("PYTHONPATH"))))
    return ours | {"PYTHONPATH": path, "HEADRACE_STATE": str(state)}


def _start(words: list[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *words],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _end(child: subprocess.Popen[str]) -> tuple[int | None, str, str]:
    """Exit code, stdout and stderr; None for the code of a child that did not end."""
    try:
        out, err = child.communicate(timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        return None, out, err
    return child.returncode, out, err


def _judge_program(fault: Fault, child: subprocess.Popen[str]) -> list[str]:
    code, out, err = _end(child)
    lines = [line for line in out.splitlines() if line.startswith("@@")]
    if code != 0 or not lines:
        return [f"a program that uses another device ended with {code}: {err.strip()[-300:]}"]
    said: Any = json.loads(lines[-1].removeprefix("@@"))
    complaints = [f"the job {when} gave a wrong answer" for when in ("before", "after")
                  if not said[when]]  # fmt: skip
    loads = fault.phase in ("open", "launch")  # found out later than by loading
    if "asked" in said and fault.works:
        if said["asked"] != {"reason": "ready"}:
            complaints.append(f"asking for it gave {said['asked']}, although it works")
    elif "asked" in said and not loads:
        complaints += _judge_error(fault, said["asked"])
    return complaints


def _judge_error(fault: Fault, asked: Mapping[str, str]) -> list[str]:
    if asked.get("kind") != "DeviceUnavailableError":
        return [f"asking for it gave {asked}, and no DeviceUnavailableError"]
    wanted = {
        "reason": fault.state,
        "distribution": DISTRIBUTION,
        "version": VERSION,
        "phase": fault.phase,
    }
    complaints = [
        f"asking for it: {name} is {asked[name]!r}, and should be {value!r}"
        for name, value in wanted.items()
        if asked[name] != value
    ]
    for name, words in (("cause", fault.cause), ("text", DISTRIBUTION)):
        if words not in asked[name]:
            complaints.append(f"asking for it: {words!r} is not in its {name}: {asked[name]}")
    if not asked["hint"]:
        complaints.append("asking for it: there is no next step")
    return complaints


def _judge_doctor(fault: Fault, child: subprocess.Popen[str]) -> list[str]:
    code, out, err = _end(child)
    try:
        document: Any = json.loads(out)
        rows = {row["distribution"]: row for row in document["backends"]}
    except (ValueError, KeyError, TypeError):
        return [f"doctor printed no document and ended with {code}: {(out + err).strip()[-300:]}"]
    wanted_code = 0 if fault.works else 1
    complaints = []
    if code != wanted_code:
        complaints.append(f"doctor ended with {code}, and should with {wanted_code}")
    for distribution in (DISTRIBUTION, *fault.rivals):
        row = rows.get(distribution)
        if row is None:
            complaints.append(f"doctor does not list {distribution}")
            continue
        wanted = {
            "tag": TAG,
            "version": VERSION,
            "entry_point": f"{TAG} = {fault.entry}",
            "state": fault.state,
            "phase": fault.phase,
            "healthy": fault.works,
        }
        complaints += [
            f"doctor: {name} is {row[name]!r}, and should be {value!r}"
            for name, value in wanted.items()
            if row[name] != value
        ]
        if fault.cause not in row["cause"]:
            complaints.append(f"doctor: {fault.cause!r} is not in the cause: {row['cause']}")
        if len(row["cause"]) > LONGEST_CAUSE:
            complaints.append(f"doctor: the cause has {len(row['cause'])} characters")
        if not (row["hint"] or fault.works):
            complaints.append("doctor: there is no next step")
    return complaints
