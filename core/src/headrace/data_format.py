"""Data formats: on which axis a tensor of images has its channels, and how one becomes the other.

``channels_first`` is ``[n, c, *spatial]`` and ``channels_last`` is ``[n, *spatial, c]``. Weights of
convolutions have formats too: axis 1 of the first is the last of the other.
"""

from __future__ import annotations

from functools import lru_cache

from headrace.op_call import OpCall

CHANNELS_FIRST = "channels_first"
CHANNELS_LAST = "channels_last"
DATA_FORMATS = (CHANNELS_FIRST, CHANNELS_LAST)

Order = tuple[int, ...]
"""Axes of a tensor in another order: axis ``i`` of what results is axis ``order[i]`` of it, as in
the ``perm`` of a ``transpose``."""


@lru_cache(maxsize=256)
def order_between(source: str, target: str, rank: int) -> Order:
    """The axes of a tensor of format ``source`` in the order of format ``target``.

    Example:
        >>> order_between("channels_first", "channels_last", 4)
        (0, 2, 3, 1)
    """
    if source == target or rank < 2:
        return tuple(range(rank))
    if target == CHANNELS_LAST:
        return (0, *range(2, rank), 1)
    return (0, rank - 1, *range(1, rank - 1))


@lru_cache(maxsize=4096)
def moves_nothing(shape: tuple[int, ...], order: Order) -> bool:
    """True when a tensor has its elements in one sequence in both orders: only axes of 1 move.

    Example:
        >>> moves_nothing((2, 8, 1, 1), (0, 2, 3, 1)), moves_nothing((2, 8, 4, 1), (0, 2, 3, 1))
        (True, False)
    """
    long = [axis for axis in order if shape[axis] != 1]
    return long == sorted(long)


def other_format(data_format: str) -> str:
    """The one that ``data_format`` is not."""
    return CHANNELS_FIRST if data_format == CHANNELS_LAST else CHANNELS_LAST


def format_of(call: OpCall) -> str | None:
    """The format of a call of one of core's ops; None when its op has none.

    What a plugin's own op calls ``data_format`` is its own business.
    """
    if "data_format" not in call.attrs:
        return None
    found = call.attrs["data_format"]
    return found if isinstance(found, str) and "." not in call.op else None
