"""A backend's profile, applied to the names and tags of tests."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headrace.device import ConformanceProfile


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a profile says of a test: ``skip`` or ``xfail``, by which pattern, and why."""

    kind: str
    pattern: str
    reason: str


def judge(profile: ConformanceProfile, name: str, tags: Iterable[str]) -> Verdict | None:
    """What ``profile`` says of the test ``name``; None when it says nothing.

    What is unsupported goes before what is expected to fail.
    """
    words = (name, *tags)
    for kind, patterns in _lists(profile).items():
        for pattern, reason in patterns.items():
            if any(fnmatch.fnmatchcase(word, pattern) for word in words):
                return Verdict(kind, pattern, reason)
    return None


def stale_patterns(
    profile: ConformanceProfile, tests: Sequence[tuple[str, Sequence[str]]]
) -> list[str]:
    """Patterns that fit none of ``tests`` (name, tags): they speak of something that is gone."""
    words = {word for name, tags in tests for word in (name, *tags)}
    return [
        pattern
        for patterns in _lists(profile).values()
        for pattern in patterns
        if not fnmatch.filter(words, pattern)
    ]


def _lists(profile: ConformanceProfile) -> dict[str, Mapping[str, str]]:
    return {"skip": profile.unsupported, "xfail": profile.expected_failures}
