"""What the user said may happen at once."""

from __future__ import annotations

from headrace.compiler.concurrency import Concurrency
from headrace.errors import JobError


def concurrency_of(concurrency_width: object = 1, compute_streams: object = 1) -> Concurrency:
    """The options, checked.

    Raises:
        JobError: one is not a number from 1 on.

    Example:
        >>> concurrency_of(concurrency_width=4)
        Concurrency(width=4, compute_streams=1)
    """
    return Concurrency(
        _count("concurrency_width", concurrency_width), _count("compute_streams", compute_streams)
    )


def _count(name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise JobError(f"{name} is {value!r}; it must be a number from 1 on")
