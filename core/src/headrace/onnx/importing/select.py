"""Branches that may both be computed: which of them is taken then decides elements, not shapes.

Where the condition of an ``If`` is computed, taking one branch means to stop and look. Small
branches of ops that cannot fail, whatever numbers they are given, are cheaper computed both.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnx import GraphProto

from headrace.onnx.file.keys import domain_of
from headrace.onnx.importing.values import Value
from headrace.ops import Tensor

_MOST_NODES = 16
_MOST_ELEMENTS = 1 << 16

_HARMLESS = frozenset(
    {
        "Abs", "Add", "And", "Cast", "Ceil", "Clip", "Concat", "Constant", "ConstantOfShape",
        "Equal", "Exp", "Expand", "Flatten", "Floor", "Greater", "GreaterOrEqual", "Identity",
        "Less", "LessOrEqual", "Log", "Max", "Min", "Mul", "Neg", "Not", "Or", "Relu",
        "Reshape", "Round", "Shape", "Sigmoid", "Sign", "Softmax", "Sqrt", "Squeeze", "Sub",
        "Tanh", "Transpose", "Unsqueeze", "Where", "Xor"
    }
)  # fmt: skip
"""Ops that fail for no numbers, so that it does no harm to compute them in vain."""


def is_harmless(graph: GraphProto) -> bool:
    """True for a branch that may be computed although it is not taken."""
    return len(graph.node) <= _MOST_NODES and all(
        not domain_of(node.domain) and node.op_type in _HARMLESS for node in graph.node
    )


def alike(first: Sequence[Value], second: Sequence[Value]) -> list[tuple[Tensor, Tensor]] | None:
    """What two branches give, in pairs; None unless all are small tensors of one dtype and shape.

    Of a large tensor the copy that chooses would cost more than to look.
    """
    pairs: list[tuple[Tensor, Tensor]] = []
    for one, other in zip(first, second, strict=False):
        if not isinstance(one, Tensor) or not isinstance(other, Tensor):
            return None
        if one.spec != other.spec or one.spec.elements > _MOST_ELEMENTS:
            return None
        pairs.append((one, other))
    return pairs if len(first) == len(second) else None
