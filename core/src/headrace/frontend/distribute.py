"""``headrace.distribute``: how a tensor is distributed over the devices of its placement.

>>> print(split(0), broadcast(), auto())
S(0) B auto

Give one to ``Symbol.with_distribute``, or a list with one for each axis of the placement's
hierarchy; a text such as ``"S(0),B"`` says the same.
"""

from __future__ import annotations

from operator import index

from headrace.errors import SbpError
from headrace.graph import Auto
from headrace.sbp import Broadcast, Split


def split(axis: int) -> Split:
    """Each device has a part: contiguous along ``axis``, equal to the others or smaller by one.

    Raises:
        SbpError: ``axis`` is negative, or no integer.
    """
    try:
        return Split(int(index(axis)))
    except TypeError:
        raise SbpError(f"a split axis is an integer from 0; got {axis!r}") from None


def broadcast() -> Broadcast:
    """Each device has all of it."""
    return Broadcast()


def auto() -> Auto:
    """As the compiler chooses, which is also what it does without a hint."""
    return Auto()
