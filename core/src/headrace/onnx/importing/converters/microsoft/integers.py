"""Products of small integers, which several ops are made of."""

from __future__ import annotations

from typing import NamedTuple

from headrace.dtypes import float32
from headrace.onnx.importing.formula import cast
from headrace.onnx.importing.node import Node
from headrace.ops import Tensor


class Quantized(NamedTuple):
    """Numbers, what one of them is worth, and which one means 0; None for 0 itself."""

    numbers: Tensor
    scale: Tensor
    zero: Tensor | None


def dynamic_quantize(node: Node, x: Tensor) -> Quantized:
    """``x`` as uint8, by the range that it spans as a whole."""
    return Quantized(*node.op("dynamic_quantize", [x], outputs=3))


def product(node: Node, a: Quantized, b: Quantized) -> Tensor:
    """``a @ b`` as float32: summed as integers, of which each is worth both scales."""
    sums = node.one(
        "matmul_integer", [a.numbers, b.numbers, flat(node, a.zero), flat(node, b.zero)]
    )
    scales = [cast(node, whole(node, scale), float32) for scale in (a.scale, b.scale)]
    return node.one("multiply", [cast(node, sums, float32), node.one("multiply", scales)])


def flat(node: Node, zero: Tensor | None) -> Tensor | None:
    """A zero point that broadcasts, or none."""
    return None if zero is None else whole(node, zero)


def whole(node: Node, tensor: Tensor) -> Tensor:
    """A scale or zero point that broadcasts: one number for a whole tensor has no axes."""
    return node.one("reshape", [tensor], shape=()) if tensor.spec.elements == 1 else tensor
