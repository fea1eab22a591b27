"""Comparing versions that are numbers with ranges of such: what nearly every plugin asks for.

``packaging`` knows all of PEP 440, and importing it takes as long as all else that finds plugins.
Where versions are numbers and dots and nothing else, its rules come down to comparing the numbers;
whatever is not of that kind is left to it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_CLAUSE = re.compile(r"\s*(<=|>=|==|!=|<|>)\s*([0-9]+(?:\.[0-9]+)*)\s*")
_COMPARE: Mapping[str, Callable[[list[int], list[int]], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


def plainly_in_range(version: str, wanted: str) -> bool:
    """True when both are plain and ``version`` is in the range, or any is; False says nothing.

    Args:
        version: like ``0.1.0``.
        wanted: like ``>=0.1,<0.2``; what stands behind the name in a requirement.
    """
    if not wanted.strip():
        return True
    clauses = [_CLAUSE.fullmatch(clause) for clause in wanted.split(",")]
    return _VERSION.fullmatch(version) is not None and all(
        clause is not None and _COMPARE[clause[1]](*_padded(version, clause[2]))
        for clause in clauses
    )


def _padded(*versions: str) -> list[list[int]]:
    """The numbers of each, with zeros behind the shorter: 1.0 is 1."""
    numbers = [[int(number) for number in version.split(".")] for version in versions]
    longest = max(map(len, numbers))
    return [each + [0] * (longest - len(each)) for each in numbers]
