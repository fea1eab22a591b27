"""What builders of this backend's passes know: the ops of core and its own."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.graph import CORE_OPS, OpEntry


class KnownOps:
    """The ops of core, and those in ``own``, by name."""

    def __init__(self, own: Mapping[str, OpEntry]) -> None:
        self._own = own

    def op(self, name: str) -> OpEntry:
        """As ``headrace.graph.OpSource`` has it."""
        return self._own.get(name) or CORE_OPS.op(name)
