"""``take``: what is made is held before Ctrl-C can come.

Python raises ``KeyboardInterrupt`` behind a call, before what the call returned has a name: memory,
a device or a stream would be nobody's, and never given back.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import starmap
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


def take(held: list[T], make: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
    """Append what ``make`` returns to ``held``, with no step of Python in between; returns it.

    Raises:
        BaseException: what ``make`` raised, and nothing was appended; or Ctrl-C behind it.
    """
    held.extend(starmap(make, (arguments,)))
    return held[-1]
