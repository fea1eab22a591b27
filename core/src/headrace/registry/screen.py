"""Decides which installed backends may be imported at all, before any of their code runs."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.light_tuple import NamedTuple
from headrace.registry.discover import UNNAMED, InstalledBackend
from headrace.registry.lock import check_lock
from headrace.registry.metadata import normal_name
from headrace.registry.plain_versions import plainly_in_range
from headrace.registry.quarantine import Crash, check_crashes
from headrace.registry.record import BackendRecord, Phase, Refusal, State

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

__all__ = ["ALLOW_VARIABLE", "BLOCK_VARIABLE", "CORE", "Choice", "refused", "screen"]

CORE = "headrace"
ALLOW_VARIABLE = "HEADRACE_BACKENDS"
BLOCK_VARIABLE = "HEADRACE_DISABLE"

TAG = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
"""What a device tag looks like; ``Placement`` takes the same."""

_REQUIREMENT_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


class Choice(NamedTuple):
    """Which backends the user wants. Names are tags or distributions.

    Attributes:
        allow: only these; None means all.
        block: not these, even when they are allowed.
    """

    allow: frozenset[str] | None = None
    block: frozenset[str] = frozenset()

    @staticmethod
    def of(allow: Iterable[str] | None = None, block: Iterable[str] | None = None) -> Choice:
        """A choice from names; what is not given comes from the environment.

        ``HEADRACE_BACKENDS`` is the allow-list and ``HEADRACE_DISABLE`` the block-list, with
        commas or spaces between names. An empty variable is one that is not set.
        """
        if allow is None:
            allow = _names(os.environ.get(ALLOW_VARIABLE, "")) or None
        if block is None:
            block = _names(os.environ.get(BLOCK_VARIABLE, ""))
        return Choice(None if allow is None else frozenset(allow), frozenset(block))

    def check(self, backend: InstalledBackend) -> None:
        """Raise Refusal when the choice leaves ``backend`` out."""
        if _is_named(backend, self.block):
            raise _blocked(
                f"the block-list {BLOCK_VARIABLE}={','.join(sorted(self.block))} names it",
                f"take it out of {BLOCK_VARIABLE}",
            )
        if self.allow is not None and not _is_named(backend, self.allow):
            raise _blocked(
                f"the allow-list {ALLOW_VARIABLE}={','.join(sorted(self.allow))} leaves it out",
                f"add {backend.tag} to {ALLOW_VARIABLE}",
            )


def screen(
    installed: Sequence[InstalledBackend],
    choice: Choice,
    core_version: str | None,
    crashes: tuple[Crash, ...] = (),
    lock: Path | None = None,
) -> tuple[BackendRecord, ...]:
    """Return one record for each installed backend, in the order given: found, or refused.

    Args:
        installed: what ``discover`` found.
        choice: the user's lists.
        core_version: version of headrace; None when headrace itself is not installed (it runs
            from a source folder), and then ``api_version`` alone decides after import.
        crashes: of plugins that ended a process before.
        lock: in strict mode, the file that lists what may run; None where everything may.
    """
    rivals: dict[str, list[InstalledBackend]] = {}
    for backend in installed:
        if not backend.fault and not _is_left_out(choice, backend):
            rivals.setdefault(backend.tag, []).append(backend)
    records = []
    for backend in installed:
        record = BackendRecord(backend.tag, backend.module, backend.distribution, backend.version)
        try:
            choice.check(backend)
            _check_metadata(backend)
            _check_rivals(rivals[backend.tag])
            _check_requirements(backend, core_version)
            check_crashes(backend, crashes)
            if lock is not None:
                check_lock(backend, lock)
        except Refusal as refusal:
            record = refused(record, refusal)
        records.append(record)
    return tuple(records)


def refused(record: BackendRecord, refusal: Refusal) -> BackendRecord:
    """The record with the refusal written into it."""
    return replace(
        record,
        state=refusal.state,
        phase=refusal.phase,
        cause=refusal.cause,
        hint=refusal.hint,
    )


def _check_metadata(backend: InstalledBackend) -> None:
    fault = backend.fault
    if not fault and not TAG.match(backend.tag):
        fault = f"{backend.tag!r} is not a device tag: letters, digits, '_' and '-', like 'cpu'"
    if fault:
        named = backend.distribution != UNNAMED  # else pip knows no name either, and says where
        hint = f"pip install --force-reinstall {backend.distribution}" if named else "pip list"
        raise Refusal(State.INVALID, Phase.DISCOVER, fault, hint)


def _check_rivals(rivals: Sequence[InstalledBackend]) -> None:
    if len(rivals) == 1:
        return
    tag = rivals[0].tag
    counts = Counter(f"{backend.distribution} {backend.version}" for backend in rivals)
    names = " and ".join(f"{name} (twice)" if n > 1 else name for name, n in counts.items())
    loser = rivals[-1].distribution
    raise Refusal(
        State.DUPLICATE,
        Phase.DISCOVER,
        f"tag {tag!r} is offered by {names}",
        f"pip uninstall the one that you do not want, or set {BLOCK_VARIABLE}={loser}",
    )


def _check_requirements(backend: InstalledBackend, core_version: str | None) -> None:
    """Compare ``Requires-Dist: headrace`` with our version, also where pip was told not to.

    A plugin that states no range is not refused: ``api_version`` decides after import.
    """
    for line in backend.requires:
        name = _REQUIREMENT_NAME.match(line)
        if name is None or normal_name(name[1]) != CORE:
            continue
        if core_version and plainly_in_range(core_version, line[name.end() :]):
            continue
        hint = f"pip install --upgrade {CORE} {backend.distribution}"
        try:
            wanted = _versions(line[name.end() :], line)
        except ValueError as error:
            reason = str(error).splitlines()[0]
            raise _incompatible(f"its requirement {line!r} is malformed: {reason}", hint) from None
        # A pre-release of core is core: whoever installed it means it.
        if core_version and not wanted.contains(core_version, prereleases=True):
            raise _incompatible(f"it needs {CORE}{wanted}, and this is {CORE} {core_version}", hint)


def _versions(behind_name: str, line: str) -> SpecifierSet:
    """The versions that a requirement asks for here; all of them, where a marker leaves it out.

    Raises:
        ValueError: it is malformed.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # seldom needed

    with contextlib.suppress(InvalidSpecifier):
        return SpecifierSet(behind_name)
    # With markers and extras.
    from packaging.requirements import Requirement

    requirement = Requirement(line)
    marker = requirement.marker
    left_out = marker is not None and not marker.evaluate({"extra": ""})
    return SpecifierSet() if left_out else requirement.specifier


def _is_left_out(choice: Choice, backend: InstalledBackend) -> bool:
    try:
        choice.check(backend)
    except Refusal:
        return True
    return False


def _is_named(backend: InstalledBackend, names: frozenset[str]) -> bool:
    """True when a list has its tag, or its distribution in any spelling."""
    distribution = normal_name(backend.distribution)
    return backend.tag in names or distribution in map(normal_name, names)


def _names(text: str) -> frozenset[str]:
    return frozenset(re.split(r"[\s,]+", text)) - {""}


def _blocked(cause: str, hint: str) -> Refusal:
    return Refusal(State.BLOCKED, Phase.DISCOVER, cause, hint)


def _incompatible(cause: str, hint: str) -> Refusal:
    return Refusal(State.INCOMPATIBLE, Phase.DISCOVER, cause, hint)
