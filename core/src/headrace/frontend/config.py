"""``FunctionConfig``: how a job is compiled. Every field does something."""

from __future__ import annotations

from typing import NoReturn

from headrace.frontend.scope import PlacementScope
from headrace.placement import Placement


class FunctionConfig:
    """Settings of a job; give it to ``global_function``.

    Attributes:
        placement: where ops run that no scope places; None means ``headrace.default_device()``
            when the job is compiled.
        fallback: what becomes of ops that their device cannot run: ``error``, ``warn`` or
            ``allow``; None means what ``HEADRACE_FALLBACK`` says, else ``error``.

    Example:
        >>> from headrace.frontend.scope import placement
        >>> config = FunctionConfig()
        >>> config.default_placement_scope(placement("cpu", "0:0"))
        >>> print(config.placement)
        cpu 0:0
    """

    __slots__ = ("fallback", "placement")  # a field that does not exist cannot be set either

    def __init__(self) -> None:
        self.placement: Placement | None = None
        self.fallback: str | None = None

    def default_placement_scope(self, scope: PlacementScope) -> None:
        """Place the job's ops where no ``with scope.placement(...)`` says otherwise."""
        self.placement = scope.placement

    def __getattr__(self, name: str) -> NoReturn:
        fields = ", ".join(n for n in dir(type(self)) if not n.startswith("_"))
        raise AttributeError(f"FunctionConfig has no field {name!r}; it has {fields}")
