"""ONNX nodes for: comparisons, logic, bits, and the choice between two tensors."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.dtypes import float32, storage_only
from headrace.onnx.importing.broadcast import joining
from headrace.onnx.importing.formula import cast, same_op
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def _float(node: Node) -> Tensor:
    """The first input; a float of 8 bits as a float32, which has the same NaN and infinity."""
    x = node.input(0)
    return cast(node, x, float32) if storage_only(x.spec.dtype) else x


def _is_nan(node: Node) -> Tensor:
    return node.one("is_nan", [_float(node)])


def _is_inf(node: Node) -> Tensor:
    return node.one(
        "is_inf",
        [_float(node)],
        detect_negative=node.attr("detect_negative", 1),
        detect_positive=node.attr("detect_positive", 1),
    )


def _bit_shift(node: Node) -> Tensor:
    direction = node.attr("direction")
    if direction not in ("LEFT", "RIGHT"):
        node.invalid(f"direction is LEFT or RIGHT, not {direction!r}")
    inputs = [node.input(0), node.input(1)]
    return node.one("bit_shift", inputs, direction=direction.lower())


CONVERTERS: Mapping[str, Converter] = {
    "Equal": joining("equal"),
    "Greater": joining("greater"),
    "Less": joining("less"),
    "GreaterOrEqual": same_op("greater_equal", 2),
    "LessOrEqual": same_op("less_equal", 2),
    "And": joining("logical_and"),
    "Or": joining("logical_or"),
    "Xor": joining("logical_xor"),
    "Not": same_op("logical_not"),
    "IsNaN": _is_nan,
    "IsInf": _is_inf,
    "BitwiseAnd": same_op("bitwise_and", 2),
    "BitwiseOr": same_op("bitwise_or", 2),
    "BitwiseXor": same_op("bitwise_xor", 2),
    "BitwiseNot": same_op("bitwise_not"),
    "BitShift": _bit_shift,
    "Where": same_op("where", 3),
}
