"""The examination: every installed backend, and headrace itself, as one document."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path

from headrace.doctor.itself import culprits, examine_core, installed_version
from headrace.registry import BackendRecord, InstalledBackend, State
from headrace.registry.discover import discover
from headrace.registry.lock import is_strict, lock_file
from headrace.registry.patient import Finding, Patient
from headrace.registry.quarantine import Crash, Quarantine, state_folder
from headrace.registry.screen import CORE, Choice, screen

FORMAT = 1
"""Version of the document; rises when a field changes its meaning or goes."""

DEFAULT_LIMIT_SECONDS = 60.0
"""Drivers of real cards take seconds to open; nothing that is well takes a minute."""


def schema() -> dict[str, object]:
    """The JSON schema (draft 2020-12) that documents of ``examine`` fit."""
    text = (files("headrace.doctor") / "doctor.schema.json").read_text("utf-8")
    loaded: dict[str, object] = json.loads(text)
    return loaded


def examine(
    tags: Iterable[str] = (),
    *,
    limit_seconds: float = DEFAULT_LIMIT_SECONDS,
    quarantine: Quarantine | None = None,
    progress: Callable[[str], None] = lambda tag: None,
) -> dict[str, object]:
    """Examine the installed backends, each that may run in a child process of its own.

    A backend whose probe ended its process is quarantined.

    Args:
        tags: only these; empty means all.
        limit_seconds: how long a probe may take.
        quarantine: where crashes are remembered; None means the user's state folder.
        progress: called with the tag of each backend when its turn comes.

    Returns:
        JSON values that fit ``schema()``. ``healthy`` is true when headrace is, and every backend
        but those that the user's own lists leave out, and those without a device here that ``tags``
        does not name: a plugin installed on machines with and without its card is well on both.
    """
    quarantine = quarantine or Quarantine(state_folder)
    wanted = tuple(tags)
    installed = discover()
    crashes = quarantine.crashes()
    lock = lock_file() if is_strict() else None
    records = screen(installed, Choice.of(), installed_version(CORE), crashes, lock)
    pairs = [
        (backend, record)
        for backend, record in zip(installed, records, strict=True)
        if not wanted or record.tag in wanted
    ]
    progress(CORE)
    core, broken = examine_core(quarantine, max(limit_seconds, DEFAULT_LIMIT_SECONDS))
    if CORE in broken:
        findings = [_not_examined(record, broken) for _, record in pairs]
    else:
        findings = _probe(pairs, limit_seconds, quarantine, progress)
    # What is blocked even where nothing ever crashed is blocked because the user wants it so.
    without_crashes = screen(installed, Choice.of(), installed_version(CORE), (), lock)
    chosen = {
        backend
        for backend, record in zip(installed, without_crashes, strict=True)
        if record.state is State.BLOCKED
    }
    backends = [
        _backend(
            record,
            finding,
            is_excused=backend in chosen or (not wanted and finding.state == State.NO_HARDWARE),
        )
        for (backend, record), finding in zip(pairs, findings, strict=True)
    ]
    absent = [tag for tag in wanted if tag not in {record.tag for record in records}]
    backends += [_absent(tag) for tag in absent]
    healthy = not core["faults"] and all(backend["healthy"] for backend in backends)
    return {"format": FORMAT, "healthy": healthy, "headrace": core, "backends": backends}


def _probe(
    pairs: Sequence[tuple[InstalledBackend, BackendRecord]],
    limit_seconds: float,
    quarantine: Quarantine,
    progress: Callable[[str], None],
) -> list[Finding]:
    """Probe what may run, as many at a time as there are cores; the rest is told of its record.

    More at a time would share the cores, and what is slow for want of one would count as hung.
    """
    at_once = max(2, os.cpu_count() or 1)
    findings: list[Finding] = []
    patients: list[Patient | None] = []
    with (
        # What a backend started may still write there.
        tempfile.TemporaryDirectory(prefix="headrace-doctor-", ignore_cleanup_errors=True) as dir_,
        ExitStack() as running,
    ):
        for number, (_, record) in enumerate(pairs):
            progress(record.tag)
            for later, (installed, its) in enumerate(pairs[: number + at_once]):
                if later >= len(patients):
                    patients.append(_start(installed, its, Path(dir_) / str(later), running))
            patient = patients[number]
            finding = _told(record) if patient is None else patient.wait(limit_seconds)
            findings.append(finding)
            if finding.ended_the_process and record.distribution:
                quarantine.add(_crash(record, finding))
    return findings


def _start(
    installed: InstalledBackend, record: BackendRecord, folder: Path, running: ExitStack
) -> Patient | None:
    """A probe that ends with ``running`` at the latest; None when nothing of it may run."""
    if record.state is not State.FOUND:
        return None
    folder.mkdir()
    patient = Patient(installed, record, folder)
    running.callback(patient.stop)
    return patient


def _told(record: BackendRecord) -> Finding:
    """Nothing of it may run: the record says it all."""
    return Finding("not-run", str(record.phase), str(record.state), record.cause, record.hint)


def _not_examined(record: BackendRecord, broken: Mapping[str, str]) -> Finding:
    """No plugin can be blamed where headrace itself does not work."""
    if record.state is not State.FOUND:
        return _told(record)
    return Finding(
        "not-run",
        str(record.phase),
        str(record.state),
        "it was not examined: headrace itself does not work here",
        f"pip install --force-reinstall {' '.join(culprits(broken))}",
    )


def _crash(record: BackendRecord, finding: Finding) -> Crash:
    when = time.strftime("%Y-%m-%d %H:%M:%S")
    return Crash(
        record.tag, record.distribution, record.version, finding.phase, finding.cause, when
    )


def _backend(record: BackendRecord, finding: Finding, *, is_excused: bool) -> dict[str, object]:
    return {
        "tag": record.tag,
        "distribution": record.distribution,
        "version": record.version,
        "entry_point": f"{record.tag} = {record.module}",
        "healthy": finding.state == State.READY or is_excused,
        "state": finding.state,
        "phase": finding.phase,
        "cause": finding.cause,
        "hint": finding.hint,
        "probe": finding.outcome,
        "devices": finding.devices,
        "seconds": finding.seconds,
        "detail": finding.detail,
    }


def _absent(tag: str) -> dict[str, object]:
    record = BackendRecord(tag, "")
    finding = Finding(
        "not-run", "discover", "not-installed", "no distribution offers it",
        f"pip install {CORE}-{tag}",
    )  # fmt: skip
    return _backend(record, finding, is_excused=False) | {"entry_point": ""}
