"""Checks the collectives that a plugin offers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from headrace.device import COLLECTIVES, CollectiveEntry
from headrace.registry.check_classes import fault_of_collective
from headrace.registry.hooks import invalid
from headrace.registry.names import describe


def check_collectives(entries: Sequence[CollectiveEntry]) -> None:
    """Check names, functions and classes.

    Raises:
        Refusal: one is none that core asks for, cannot be made, or could never be chosen.
    """
    for entry in entries:
        name: object = entry.name
        if name not in COLLECTIVES:
            from difflib import get_close_matches

            close = get_close_matches(str(name), COLLECTIVES, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(COLLECTIVES)}"
            raise invalid(
                f"its headrace_collectives offers {name!r}, which is no collective; {hint}"
            )
        for field in ("create", "match"):
            if not callable(getattr(entry, field)):
                raise invalid(
                    f"its headrace_collectives returned {entry!r}, whose {field} cannot be called"
                )
        priority: object = entry.priority
        if not isinstance(priority, int):
            raise invalid(f"its collective {name!r} has priority {priority!r}; it must be an int")
        fault = fault_of_collective(entry.create) if isinstance(entry.create, type) else ""
        if fault:
            raise invalid(f"its collective {name!r} ({describe(entry.create)}) {fault}")  # type: ignore[arg-type]
    for one, other in itertools.combinations(entries, 2):
        if (one.name, one.priority, one.match) == (other.name, other.priority, other.match):
            raise invalid(
                f"its headrace_collectives offers {one.name!r} twice for {one.match} with priority "
                f"{one.priority}; give one a higher priority"
            )
