"""Which calls a kernel takes, beyond their dtype."""

from __future__ import annotations

from collections.abc import Callable

from headrace.device import OpCall, dtypes

FLOATS = dtypes("float32", "float64")
"""Calls whose first input is float32 or float64, in which the extension computes."""


class SomeCalls:
    """Calls of ``dtypes`` for which ``holds``; prints ``name``."""

    def __init__(
        self, name: str, dtypes: Callable[[OpCall], bool], holds: Callable[[OpCall], bool]
    ) -> None:
        self._name = name
        self._dtypes = dtypes
        self._holds = holds

    def __call__(self, call: OpCall) -> bool:
        return self._dtypes(call) and self._holds(call)

    def __str__(self) -> str:
        return f"{self._name}, {self._dtypes}"
