"""Floats of 16 bits in the passes: what attributes, weights and constants are in float32."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.dtypes import DType, float32
from headrace.graph import JobGraph
from headrace.numpy_ops import evaluate
from headrace.op_call import Attrs, AttrValue
from headrace.ops import get_op, make_call
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.halves import HALVES


def wide_attrs(attrs: Attrs) -> Mapping[str, AttrValue]:
    """The attributes of a call, as that in float32 has them."""
    return {
        name: float32 if isinstance(value, DType) and value in HALVES else value
        for name, value in attrs.items()
    }


def stored_weights(graph: JobGraph) -> Mapping[str, str]:
    """The constants that ``cpu.widen`` widens, by what it makes of them."""
    return {
        op.outputs[0]: name
        for op in graph.of_kind("cpu.widen")
        for name in op.inputs
        if name is not None and name in graph.constants
    }


def in_float32(value: Array) -> Array:
    """Halves as float32: new, aligned as weights are."""
    spec = TensorSpec.of(value)
    call = make_call(get_op("cast"), "halves", [spec], {"dtype": float32})
    (wide,) = evaluate(call, [value])
    return wide
