"""ONNX nodes for: comparisons, logic, bits, and the choice between two tensors."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.dtypes import float32, storage_only
from headrace.onnx.formula import cast
from headrace.onnx.node import Converter, Node
from headrace.ops import Tensor


def _same(op: str, count: int = 2) -> Converter:
    """The node of ``count`` inputs that is one headrace op, in every version."""

    def convert(node: Node) -> Tensor:
        return node.one(op, [node.input(index) for index in range(count)])

    return convert


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
    "Equal": _same("equal"),
    "Greater": _same("greater"),
    "Less": _same("less"),
    "GreaterOrEqual": _same("greater_equal"),
    "LessOrEqual": _same("less_equal"),
    "And": _same("logical_and"),
    "Or": _same("logical_or"),
    "Xor": _same("logical_xor"),
    "Not": _same("logical_not", 1),
    "IsNaN": _is_nan,
    "IsInf": _is_inf,
    "BitwiseAnd": _same("bitwise_and"),
    "BitwiseOr": _same("bitwise_or"),
    "BitwiseXor": _same("bitwise_xor"),
    "BitwiseNot": _same("bitwise_not", 1),
    "BitShift": _bit_shift,
    "Where": _same("where", 3),
}
