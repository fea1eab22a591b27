"""Which calls a kernel takes, beyond their dtype."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.device import OpCall, dtypes

FLOATS = dtypes("float32", "float64")
"""Calls whose first input is float32 or float64, in which the extension computes."""


@dataclass(frozen=True, slots=True)
class SomeCalls:
    """Calls of ``dtypes`` for which ``holds``; prints ``name``."""

    name: str
    dtypes: Callable[[OpCall], bool]
    holds: Callable[[OpCall], bool]

    def __call__(self, call: OpCall) -> bool:
        return self.dtypes(call) and self.holds(call)

    def __str__(self) -> str:
        return f"{self.name}, {self.dtypes}"
