"""What came of the suite: outcomes counted by tag, as JSON and as a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from headrace.dtypes import ALL

FORMAT = 1
"""Version of the JSON report; rises when a field changes its meaning or goes."""

RAN = ("passed", "failed", "xfailed")
"""Outcomes of tests that ran to an end that says something of the device."""

_MARKS = {"skipped": "s", "xfailed": "x", "failed": "F"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test.

    Attributes:
        name: of the test, with its parameters.
        tags: what it is about.
        outcome: passed, failed, skipped or xfailed; an unexpected pass is failed.
        reason: why it was skipped or expected to fail; the last line of what failed.
        executed_on: devices that a kernel was bound for, else those that were used.
        seconds: how long it took.
    """

    name: str
    tags: tuple[str, ...]
    outcome: str
    reason: str
    executed_on: tuple[str, ...]
    seconds: float


def as_json(outcomes: Sequence[Outcome], facts: Mapping[str, str]) -> dict[str, object]:
    """The report as JSON values: facts of the run, counts, and every test."""
    return {
        "format": FORMAT,
        **facts,
        "counts": dict(sorted(Counter(o.outcome for o in outcomes).items())),
        "tests": [asdict(outcome) for outcome in outcomes],
    }


def table(outcomes: Iterable[Outcome]) -> list[str]:
    """Lines of two tables: tags, and op families by dtype. Cells count what ran and what did not.

    ``12`` ran, ``3s`` skipped, ``1x`` failed as expected, ``2F`` failed.
    """
    cells: dict[tuple[str, str], Counter[str]] = {}
    for outcome in outcomes:
        for tag in outcome.tags:
            row, column = _place(tag)
            cells.setdefault((row, column), Counter())[outcome.outcome] += 1
    rows = sorted({row for row, _ in cells}, key=lambda row: (row.startswith("ops/"), row))
    lines = []
    for plain in (True, False):
        chosen = [row for row in rows if row.startswith("ops/") != plain]
        columns = [""] if plain else _dtype_order(c for r, c in cells if r in chosen)
        lines += _lines(chosen, columns, cells)
    return lines


def _place(tag: str) -> tuple[str, str]:
    if not tag.startswith("ops/"):
        return tag, ""
    family, _, dtype = tag.rpartition("/")
    return family, dtype


def _dtype_order(names: Iterable[str]) -> list[str]:
    order = {dtype.name: number for number, dtype in enumerate(sorted(ALL))}
    return sorted(set(names), key=lambda name: (order.get(name, len(order)), name))


def _lines(
    rows: Sequence[str], columns: Sequence[str], cells: Mapping[tuple[str, str], Counter[str]]
) -> list[str]:
    if not rows:
        return []
    head = ["", *map(_short, columns)]
    body = [[row, *(_cell(cells.get((row, column))) for column in columns)] for row in rows]
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    shown = [head, *body] if any(head) else body
    return [
        "  ".join(
            [line[0].ljust(widths[0])]
            + [text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True)]
        ).rstrip()
        for line in shown
    ]


def _cell(counts: Counter[str] | None) -> str:
    if not counts:
        return "."
    parts = [str(counts["passed"])] if counts["passed"] else []
    parts += [f"{counts[kind]}{mark}" for kind, mark in _MARKS.items() if counts[kind]]
    return " ".join(parts)


def _short(name: str) -> str:
    """``float32`` as ``f32``: sixteen dtypes must fit on a line."""
    for long, short in (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i")):
        if name.startswith(long):
            return short + name.removeprefix(long)
    return name


def floor_missed(outcomes: Sequence[Outcome], floor: str) -> str:
    """Why too few tests ran; empty when enough did.

    Args:
        outcomes: of all tests of the suite.
        floor: a number of tests, or a share of them such as ``95%``.

    Raises:
        ValueError: ``floor`` is neither.

    Example:
        >>> floor_missed([], "10")
        '0 of 0 tests ran on the device; --min-ran asks for 10'
    """
    ran = sum(outcome.outcome in RAN for outcome in outcomes)
    number = re.fullmatch(r"(\d+)|(\d+(?:\.\d+)?)%", floor, re.ASCII)
    if number is None or (number[2] and float(number[2]) > 100):
        raise ValueError(f"{floor!r} is neither a number nor a share such as 95%")
    if number[2]:
        enough = ran >= float(number[2]) / 100 * len(outcomes) and ran > 0
    else:
        enough = ran >= int(number[1])
    if enough:
        return ""
    return f"{ran} of {len(outcomes)} tests ran on the device; --min-ran asks for {floor}"
