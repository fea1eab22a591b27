"""Scopes: where the ops of a job are placed, and what a tensor is, said with ``with``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from enum import Enum

from headrace.placement import Placement

_ENTERED: ContextVar[tuple[Placement, ...]] = ContextVar("headrace_placements", default=())


class LogicalView(Enum):
    """What the tensor is that a job function sees."""

    CONSISTENT = "consistent"
    """One tensor, however it lies over its devices."""
    MIRRORED = "mirrored"
    """One on each device, independent of the others."""


_VIEWS: ContextVar[tuple[LogicalView, ...]] = ContextVar("headrace_views", default=())


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


class ViewScope(AbstractContextManager[LogicalView]):
    """A view to be used with ``with``, or given to ``FunctionConfig.default_logical_view``.

    It may be entered again while it is entered, and by several threads.
    """

    def __init__(self, view: LogicalView) -> None:
        self.view = view

    def __enter__(self) -> LogicalView:
        _VIEWS.set((*_VIEWS.get(), self.view))
        return self.view

    def __exit__(self, *raised: object) -> None:
        _VIEWS.set(_VIEWS.get()[:-1])


def consistent_view() -> ViewScope:
    """See one tensor, however it lies over its devices: the default."""
    return ViewScope(LogicalView.CONSISTENT)


def mirrored_view() -> ViewScope:
    """See one tensor on each device: an op is one op for each, which knows nothing of the others.

    What was made in the consistent view is given to each device: a part, if it was distributed as
    ``split(axis)``, else all of it.
    """
    return ViewScope(LogicalView.MIRRORED)


def current_view() -> LogicalView:
    """The view of the innermost ``with`` block; the consistent one outside."""
    return (LogicalView.CONSISTENT, *_VIEWS.get())[-1]
