"""Scopes: where the ops of a job are placed, said with ``with``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from headrace.placement import Placement

_PLACEMENT: ContextVar[Placement | None] = ContextVar("headrace_placement", default=None)


class PlacementScope(AbstractContextManager[Placement]):
    """A placement to be used with ``with``, or given to a ``FunctionConfig``."""

    def __init__(self, placement: Placement) -> None:
        self.placement = placement
        self._entered: list[AbstractContextManager[None]] = []

    def __enter__(self) -> Placement:
        entering = _placed(self.placement)
        entering.__enter__()
        self._entered.append(entering)
        return self.placement

    def __exit__(self, *raised: object) -> None:
        self._entered.pop().__exit__(None, None, None)


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
    return _PLACEMENT.get() or default


@contextmanager
def _placed(where: Placement) -> Iterator[None]:
    token = _PLACEMENT.set(where)
    try:
        yield
    finally:
        _PLACEMENT.reset(token)
