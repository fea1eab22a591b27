"""Headrace itself, examined like a suspect: what it runs on, and what it needs."""

from __future__ import annotations

import difflib
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from headrace.doctor.imports import import_faults
from headrace.frontend.cache_folder import PLAN_CACHE, cache_folder
from headrace.registry.quarantine import Quarantine, state_folder
from headrace.registry.screen import CORE

OPTIONAL = ("onnx",)
"""What headrace uses where it is installed, and is as broken as anything where it is broken."""


VARIABLES = frozenset(
    f"HEADRACE_{name}"
    for name in (
        "BACKENDS",
        "CACHE",
        "DEVICE",
        "DISABLE",
        "ENABLE_INPLACE",
        "ENABLE_REUSE_MEM",
        "FALLBACK",
        "LOCK",
        "MEMORY_LIMIT",
        "PLAN_CACHE",
        "STATE",
        "STRICT",
        "TRACEBACK",
        "VERIFY",
    )
)
"""What core reads of the environment; docs/environment.md says what each is for."""

PLAN_BYTES = 1 << 16
"""Room for a small plan: a folder with less of it on its disk keeps none."""


def examine_core(
    quarantine: Quarantine, limit_seconds: float
) -> tuple[dict[str, Any], dict[str, str]]:
    """Headrace itself: what it runs on, and whether what it needs is there and can be imported.

    Returns:
        Its part of the document, and why each distribution that cannot be imported cannot be.
    """
    dependencies: dict[str, str] = {}
    faults: list[str] = []
    for line in _requires(CORE):
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        there = installed_version(requirement.name)
        dependencies[requirement.name] = there or ""
        if there is None:
            faults.append(f"{requirement.name} is not installed")
        elif not _fits(requirement, there):
            faults.append(f"{requirement.name} {there} does not fit {line}")
    optional = {name: there for name in OPTIONAL if (there := installed_version(name))}
    versions = dependencies | optional
    tried = [CORE, *(name for name, there in versions.items() if there)]
    broken = import_faults(tried, limit_seconds)
    # Where what it needs cannot be imported, headrace cannot be; to say so adds nothing.
    for name, cause in broken.items():
        if name != CORE or len(broken) == 1:
            faults.append(
                f"{name} {versions.get(name, '')}".rstrip() + f" does not import: {cause}"
            )
    return {
        "version": installed_version(CORE) or "",
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "state_folder": _text_of(state_folder),
        "cache_folder": _text_of(cache_folder),
        "dependencies": versions,
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith("HEADRACE_")},
        "faults": faults,
        "notes": [*_misspelt(os.environ), *_forgetful(quarantine)],
    }, broken


def _misspelt(environment: Iterable[str]) -> Iterator[str]:
    """Variables that look like one of core's and are none; backends may have others."""
    for name in sorted(environment):
        close = difflib.get_close_matches(name, VARIABLES, 1, cutoff=0.85)
        if name.startswith("HEADRACE_") and name not in VARIABLES and close:
            yield f"{name} is set, and nothing reads it; did you mean {close[0]}?"


def _forgetful(quarantine: Quarantine) -> Iterator[str]:
    if not quarantine.is_kept():
        yield "the state folder cannot be written: what ends a process is not remembered"
    if os.environ.get(PLAN_CACHE) != "0" and not _keeps_plans():
        yield "the cache folder cannot be written: models are compiled at every start"


def _keeps_plans() -> bool:
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            return file.write(bytes(PLAN_BYTES)) == PLAN_BYTES
    except (OSError, RuntimeError):
        return False


def _fits(requirement: Requirement, there: str) -> bool:
    try:
        return requirement.specifier.contains(there, prereleases=True)
    except InvalidVersion:  # damaged metadata
        return False


def _text_of(folder: Callable[[], Path]) -> str:
    try:
        return str(folder())
    except RuntimeError:  # no home
        return ""


def installed_version(distribution: str) -> str | None:
    """What the metadata of a distribution say; None when it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
    except Exception:  # noqa: BLE001 - damaged metadata raise whatever their parser raises
        return ""


def culprits(broken: Iterable[str]) -> list[str]:
    """Of distributions that cannot be imported, those that none of the others is to blame for."""
    names = {canonicalize_name(name) for name in broken}
    return sorted(name for name in names if not (names - {name}) & _needs(name)) or [CORE]


def _needs(distribution: str) -> set[str]:
    found: set[str] = set()
    for line in _requires(distribution):
        with suppress(InvalidRequirement):  # another's metadata: not ours to judge
            found.add(canonicalize_name(Requirement(line).name))
    return found


def _requires(distribution: str) -> Iterable[str]:
    try:
        return requires(distribution) or ()
    except Exception:  # noqa: BLE001 - not installed, or as above
        return ()
