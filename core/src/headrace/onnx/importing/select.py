"""Branches that may both be computed: which of them is taken then decides elements, not shapes.

Where the condition of an ``If`` is computed, taking one branch means to stop and look. Small
branches of ops that cannot fail, whatever numbers they are given, are cheaper computed both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from onnx import GraphProto

from headrace.graph.job_graph import JobOp
from headrace.onnx.file.keys import domain_of
from headrace.onnx.importing.values import Value
from headrace.ops import Tensor

_MOST_NODES = 64
_MOST_ELEMENTS = 1 << 16
_MOST_WORK = 1 << 18
"""A core does as many multiplications while the host looks at a condition and goes on: 15 us."""

_HARMLESS = frozenset(
    {
        "Abs", "Add", "And", "BatchNormalization", "Cast", "Ceil", "Clip", "Concat", "Constant",
        "ConstantOfShape", "Cos", "Div", "Elu", "Equal", "Erf", "Exp", "Expand",
        "Flatten", "Floor", "Gelu", "Gemm", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish",
        "Identity", "LayerNormalization", "LeakyRelu", "Less", "LessOrEqual", "Log", "LogSoftmax",
        "MatMul", "Max", "Mean", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Pow", "PRelu",
        "Reciprocal", "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
        "ReduceSum", "ReduceSumSquare", "Relu", "Reshape", "Round", "Selu", "Shape", "Sigmoid",
        "Sign", "Sin", "Size", "Softmax", "Softplus", "Softsign", "Sqrt", "Squeeze", "Sub", "Sum",
        "Tanh", "Transpose", "Unsqueeze", "Where", "Xor"
    }
)  # fmt: skip
"""Ops that fail for no numbers, so that it does no harm to compute them in vain: whole numbers are
divided by 0 as well."""


def is_harmless(graph: GraphProto) -> bool:
    """True for a branch that may be computed although it is not taken."""
    return len(graph.node) <= _MOST_NODES and all(
        not domain_of(node.domain) and node.op_type in _HARMLESS for node in graph.node
    )


def are_cheap(ops: Iterable[JobOp]) -> bool:
    """True for the ops of branches that take no longer than to stop and look."""
    return sum(map(_work, ops)) <= _MOST_WORK


def _work(op: JobOp) -> int:
    """The multiplications of a product; the elements that any other op reads or makes."""
    sizes = [spec.elements for spec in (*op.call.inputs, *op.call.outputs) if spec is not None]
    if op.call.op == "matmul":  # of n x k and k x m to n x m: each size of the three comes twice
        return math.isqrt(math.prod(sizes[:2]) * sizes[-1])
    return sum(sizes)


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
