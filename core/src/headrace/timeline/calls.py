"""Calls: from the first launch of each to the end of its last work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.timeline.span import TaskSpan


@dataclass(frozen=True, slots=True)
class CallSpan:
    """One call of the job; ``number`` is that of its spans."""

    number: int
    begin_ns: int
    end_ns: int


def call_spans(spans: Iterable[TaskSpan]) -> tuple[CallSpan, ...]:
    """All calls that spans are of, in the order of their numbers."""
    found: dict[int, tuple[int, int]] = {}
    for span in spans:
        begin, end = found.get(span.number, (span.begin_ns, span.end_ns))
        found[span.number] = (min(begin, span.begin_ns), max(end, span.end_ns))
    return tuple(CallSpan(number, *found[number]) for number in sorted(found))
