"""Scopes: where the ops of a job are placed, said with ``with``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar

from headrace.placement import Placement

_ENTERED: ContextVar[tuple[Placement, ...]] = ContextVar("headrace_placements", default=())


class PlacementScope(AbstractContextManager[Placement]):
    """A placement to be used with ``with``, or given to a ``FunctionConfig``.

    It may be entered again while it is entered, and by several threads.
    """

    def __init__(self, placement: Placement) -> None:
        self.placement = placement

    def __enter__(self) -> Placement:
        _ENTERED.set((*_ENTERED.get(), self.placement))
        return self.placement

    def __exit__(self, *raised: object) -> None:
        _ENTERED.set(_ENTERED.get()[:-1])


def placement(
    device_tag: str,
    device_ids: str | Sequence[str] = "0:0",
    hierarchy: Sequence[int] | None = None,
) -> PlacementScope:
    """Place the ops inside the ``with`` block.

    Args:
        device_tag: tag of a backend, for example ``"cpu"``.
        device_ids: ``"machine:first-last"``, or a list of such texts.
        hierarchy: shape in which the devices are seen; default: one axis.

    Raises:
        PlacementError: the text is malformed.

    Example:
        >>> with placement("cpu", "0:0") as where:
        ...     print(where)
        cpu 0:0
    """
    return PlacementScope(Placement.parse(device_tag, device_ids, hierarchy))


def current_placement(default: Placement) -> Placement:
    """The placement of the innermost ``with`` block, or ``default``."""
    return (default, *_ENTERED.get())[-1]
