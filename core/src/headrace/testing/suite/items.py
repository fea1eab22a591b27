"""Tests of the suite as pytest collects them: their tags, their cases, how their reports read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.testing.case import Case
from headrace.testing.suite.report import Outcome
from headrace.testing.suite.tags import tags_of_case

SUITE = "headrace.testing.conformance"


def tags_of(item: pytest.Item) -> tuple[str, ...]:
    """The tags of a test of the suite; none for other tests."""
    marks = [str(tag) for mark in item.iter_markers("conformance") for tag in mark.args]
    case = _case(item)
    if case is not None and _module(item).startswith(f"{SUITE}.test_"):
        marks += tags_of_case(_module(item).removeprefix(f"{SUITE}.test_"), case)
    return tuple(dict.fromkeys(marks))


def case_run_by(item: pytest.Item) -> Case | None:
    """The case that a test runs on the device under test, if it does."""
    return _case(item) if "device" in getattr(item, "fixturenames", ()) else None


def is_whole(items: Sequence[pytest.Item]) -> bool:
    """True when every module of the suite was collected."""
    import headrace.testing.conformance as suite

    there = {path.stem for path in Path(suite.__path__[0]).glob("test_*.py")}
    return there <= {_module(item).removeprefix(f"{SUITE}.") for item in items}


def outcome_of(made: pytest.TestReport, carried: dict[str, Any]) -> Outcome:
    """What a report says, with the tags and devices that were sent along with it."""
    outcome, reason = str(made.outcome), ""
    if hasattr(made, "wasxfail"):
        outcome, reason = ("xfailed" if made.skipped else "failed"), str(made.wasxfail)
    elif made.skipped and isinstance(made.longrepr, tuple):
        reason = str(made.longrepr[2]).removeprefix("Skipped: ")
    elif made.failed:
        reason = str(made.longreprtext).strip().rpartition("\n")[2]
    return Outcome(
        name=made.nodeid.rpartition("::")[2],
        tags=tuple(carried["tags"]),
        outcome=outcome,
        reason=reason,
        executed_on=tuple(carried["executed_on"]),
        seconds=getattr(made, "duration", 0.0),
    )


def _case(item: pytest.Item) -> Case | None:
    parameters = getattr(item, "callspec", None)
    case = None if parameters is None else parameters.params.get("case")
    return case if isinstance(case, Case) else None


def _module(item: pytest.Item) -> str:
    return getattr(getattr(item, "module", None), "__name__", "")
