"""Small steps that several converters are written in."""

from __future__ import annotations

import math

import numpy as np

from headrace.dtypes import DType, bfloat16, float16, float32
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def same_op(op: str, inputs: int = 1, **defaults: float) -> Converter:
    """The node that is one headrace op in every version, with attributes of the same names."""

    def convert(node: Node) -> Tensor:
        attrs = {name: node.attr(name, default) for name, default in defaults.items()}
        return node.one(op, [node.input(index) for index in range(inputs)], **attrs)

    return convert


def cast(node: Node, tensor: Tensor, dtype: DType) -> Tensor:
    """``tensor`` as ``dtype``; no op is added when it has that dtype."""
    return tensor if tensor.spec.dtype == dtype else node.one("cast", [tensor], dtype=dtype)


def scalar(node: Node, value: float, like: Tensor) -> Tensor:
    """A constant of rank 0 with the dtype of ``like``."""
    return node.constant(np.array(value, like.spec.dtype.numpy))


def with_number(node: Node, op: str, x: Tensor, number: float) -> Tensor:
    """``op`` of ``x`` and a number."""
    return node.one(op, [x, scalar(node, number, x)])


def at_least_float32(dtype: DType) -> DType:
    """Float32 for half floats, whose sums and squares soon leave their range; else ``dtype``."""
    return float32 if dtype in (float16, bfloat16) else dtype


def as_matrix(node: Node, x: Tensor, axis: int) -> Tensor:
    """``x`` with all axes before ``axis`` as rows and all others as columns."""
    shape = x.spec.shape
    return node.one("reshape", [x], shape=(math.prod(shape[:axis]), math.prod(shape[axis:])))
