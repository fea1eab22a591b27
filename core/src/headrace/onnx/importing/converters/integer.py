"""ONNX nodes for: products of 8-bit integers."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.dtypes import float32
from headrace.onnx.importing.converters.quantize import requantize
from headrace.onnx.importing.converters.window import sliding_window
from headrace.onnx.importing.formula import cast
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def _matmul_integer(node: Node) -> Tensor:
    return _matmul(node, 0, 1, 2, 3)


def _conv_integer(node: Node) -> Tensor:
    return _conv(node, node.input(1), None, node.optional(2), node.optional(3))


def _qlinear_matmul(node: Node) -> Tensor:
    sums = _matmul(node, 0, 3, 2, 5)
    a_scale = _for_rows(node, cast(node, node.input(1), float32))
    scale = node.one("multiply", [a_scale, cast(node, node.input(4), float32)])
    return requantize(node, sums, scale, 6, 7)


def _qlinear_conv(node: Node) -> Tensor:
    weight = node.input(3)
    sums = _conv(node, weight, node.optional(8), node.input(2), node.input(5))
    x_scale, w_scale = node.input(1), node.input(4)
    if x_scale.spec.elements != 1:
        node.invalid(f"x_scale is {x_scale.spec}; it must have one element")
    x_scale = node.one("reshape", [x_scale], shape=())
    if w_scale.spec.elements > 1:
        channels = (w_scale.spec.elements, *(1,) * (weight.spec.rank - 2))
        w_scale = node.one("reshape", [w_scale], shape=channels)
    else:
        w_scale = node.one("reshape", [w_scale], shape=())
    return requantize(node, sums, node.one("multiply", [x_scale, w_scale]), 6, 7)


def _matmul(node: Node, a: int, b: int, a_zero: int, b_zero: int) -> Tensor:
    rows = node.optional(a_zero)
    return node.one(
        "matmul_integer",
        [
            node.input(a),
            node.input(b),
            None if rows is None else _for_rows(node, rows),
            node.optional(b_zero),
        ],
    )


def _for_rows(node: Node, tensor: Tensor) -> Tensor:
    """One number for each row of A stands in a column; for the columns of B it is as it should."""
    if tensor.spec.rank == 1 and tensor.spec.elements > 1:
        return node.one("reshape", [tensor], shape=(tensor.spec.elements, 1))
    if tensor.spec.elements == 1:
        return node.one("reshape", [tensor], shape=())
    return tensor


def _conv(
    node: Node,
    weight: Tensor,
    bias: Tensor | None,
    x_zero: Tensor | None,
    weight_zero: Tensor | None,
) -> Tensor:
    x = node.input(0).spec
    if weight.spec.rank != x.rank:
        node.invalid(f"the weight {weight.spec} must have the rank of input 0, {x}")
    window = sliding_window(node, weight.spec.shape[2:])
    return node.one(
        "conv_integer",
        [node.input(0), weight, bias, x_zero, weight_zero],
        strides=window.strides,
        dilations=window.dilations,
        pads=window.pads,
        groups=node.attr("group", 1),
    )


CONVERTERS: Mapping[str, Converter] = {
    "MatMulInteger": _matmul_integer,
    "ConvInteger": _conv_integer,
    "QLinearMatMul": _qlinear_matmul,
    "QLinearConv": _qlinear_conv,
}
