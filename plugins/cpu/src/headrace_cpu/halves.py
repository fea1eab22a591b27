"""Floats of 16 bits: which calls are of them, and what these are in float32."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.device import OpCall
from headrace.dtypes import DType, bfloat16, float16, float32
from headrace.numpy_ops import evaluate
from headrace.op_call import Attrs, AttrValue
from headrace.ops import get_op, make_call
from headrace.tensor_spec import Array, TensorSpec

if TYPE_CHECKING:  # the plugin's hooks are read where no job is built
    from headrace.graph import JobGraph

HALVES = (float16, bfloat16)


def is_half(spec: TensorSpec | None) -> bool:
    """Whether a tensor, if there is one, is of 16 bits."""
    return spec is not None and spec.dtype in HALVES


def wide_attrs(attrs: Attrs) -> Mapping[str, AttrValue]:
    """The attributes of a call, as that in float32 has them."""
    return {
        name: float32 if isinstance(value, DType) and value in HALVES else value
        for name, value in attrs.items()
    }


@dataclass(frozen=True, slots=True)
class InHalves:
    """Calls of 16 bits that ``match`` takes in float32."""

    match: Callable[[OpCall], bool]

    def __call__(self, call: OpCall) -> bool:
        if not is_half(call.input(0)):
            return False
        wide = [
            replace(spec, dtype=float32) if spec is not None and is_half(spec) else spec
            for spec in call.inputs
        ]
        return self.match(replace(call, inputs=tuple(wide)))

    def __str__(self) -> str:
        return f"{' | '.join(map(str, HALVES))}, as {self.match}"


def stored_weights(graph: JobGraph) -> Mapping[str, str]:
    """The constants that ``cpu.widen`` widens, by what it makes of them."""
    return {
        op.outputs[0]: name
        for op in graph.ops
        if op.call.op == "cpu.widen"
        for name in op.inputs
        if name is not None and name in graph.constants
    }


def in_float32(value: Array) -> Array:
    """Halves as float32: new, aligned as weights are."""
    spec = TensorSpec.of(value)
    call = make_call(get_op("cast"), "halves", [spec], {"dtype": float32})
    (wide,) = evaluate(call, [value])
    return wide
