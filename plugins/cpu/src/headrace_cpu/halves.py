"""Floats of 16 bits: which calls are of them. What they become is in ``passes/halves.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headrace.device import OpCall
from headrace.dtypes import bfloat16, float16, float32
from headrace.tensor_spec import TensorSpec

HALVES = (float16, bfloat16)


def is_half(spec: TensorSpec | None) -> bool:
    """Whether a tensor, if there is one, is of 16 bits."""
    return spec is not None and spec.dtype in HALVES


class InHalves:
    """Calls of 16 bits that ``match`` takes in float32."""

    def __init__(self, match: Callable[[OpCall], bool]) -> None:
        self._match = match

    def __call__(self, call: OpCall) -> bool:
        if not is_half(call.input(0)):
            return False
        wide = [
            replace(spec, dtype=float32) if spec is not None and is_half(spec) else spec
            for spec in call.inputs
        ]
        return self._match(replace(call, inputs=tuple(wide)))

    def __str__(self) -> str:
        return f"{' | '.join(map(str, HALVES))}, as {self._match}"
