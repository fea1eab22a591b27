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
    found: dict[int, list[int]] = {}
    for span in spans:
        call = found.setdefault(span.number, [span.begin_ns, span.end_ns])
        call[0] = min(call[0], span.begin_ns)
        call[1] = max(call[1], span.end_ns)
    return tuple(CallSpan(number, begin, end) for number, (begin, end) in sorted(found.items()))
