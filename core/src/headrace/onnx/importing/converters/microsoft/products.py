"""Products of small integers whose result is a float, or is quantized again."""

from __future__ import annotations

from headrace.dtypes import float32, int32, uint16, uint32
from headrace.onnx.importing.contrib import declare
from headrace.onnx.importing.converters.microsoft.integers import (
    Quantized,
    dynamic_quantize,
    product,
    whole,
)
from headrace.onnx.importing.converters.quantize import requantize
from headrace.onnx.importing.formula import cast, with_number
from headrace.onnx.importing.node import Node
from headrace.ops import Tensor

_BYTES = "int8 uint8"


def _dynamic_matmul(node: Node) -> Tensor:
    """A is quantized when it is known, as a whole."""
    a = dynamic_quantize(node, node.input(0))
    b = Quantized(node.input(1), node.input(2), node.optional(3))
    return _biased(node, product(node, a, b), 4)


def _matmul_to_float(node: Node) -> Tensor:
    a = Quantized(node.input(0), node.input(2), node.optional(4))
    b = Quantized(node.input(1), node.input(3), node.optional(5))
    return cast(node, _biased(node, product(node, a, b), 6), a.scale.spec.dtype)


def _wide_matmul(node: Node) -> Tensor:
    """Of numbers of 16 bits; sums wrap round."""
    a, b = node.input(0), node.input(1)
    dtype = uint32 if a.spec.dtype == b.spec.dtype == uint16 else int32
    return node.one("matmul", [cast(node, a, dtype), cast(node, b, dtype)])


def _biased(node: Node, y: Tensor, bias: int) -> Tensor:
    added = node.optional(bias)
    return y if added is None else node.one("add", [y, cast(node, added, y.spec.dtype)])


def _qgemm(node: Node) -> Tensor:
    """``alpha * (A @ B + C)``, the sum in integers; quantized when the output has a scale."""
    a, b = _turned(node, 0, "transA"), _turned(node, 3, "transB")
    zeros = [whole(node, node.input(index)) for index in (2, 5)]
    sums = node.one("matmul_integer", [a, b, *zeros])
    if node.optional(6) is not None:
        sums = node.one("add", [sums, node.input(6)])
    scale = node.one("multiply", [whole(node, node.input(1)), whole(node, node.input(4))])
    alpha = node.attr("alpha", 1.0)
    if alpha != 1:
        scale = with_number(node, "multiply", scale, alpha)
    if node.optional(7) is None:
        return node.one("multiply", [cast(node, sums, float32), scale])
    return requantize(node, sums, scale, 7, 8)


def _turned(node: Node, index: int, flag: str) -> Tensor:
    x = node.input(index)
    if x.spec.rank != 2:
        node.invalid(f"input {index} is {x.spec}; it must have rank 2")
    return node.one("transpose", [x], perm=(1, 0)) if node.attr(flag, 0) else x


OPS = (
    declare(
        "DynamicQuantizeMatMul",
        "A:T1 B:T2 b_scale:T1 b_zero_point:T2? bias:T1?",
        "Y:T1",
        _dynamic_matmul,
        T1="float",
        T2=_BYTES,
    ),
    declare(
        "MatMulIntegerToFloat",
        "A:T1 B:T2 a_scale:T3 b_scale:T3 a_zero_point:T1? b_zero_point:T2? bias:T3?",
        "Y:T3",
        _matmul_to_float,
        T1=_BYTES,
        T2=_BYTES,
        T3="float float16",
    ),
    declare(
        "MatMulInteger16",
        "A:T1 B:T2",
        "Y:T3",
        _wide_matmul,
        T1="int16 uint16",
        T2="int16 uint16",
        T3="int32 uint32",
    ),
    declare(
        "QGemm",
        "A:TA a_scale:T a_zero_point:TA B:TB b_scale:T b_zero_point:TB C:TC? y_scale:T? "
        "y_zero_point:TYZ?",
        "Y:TY",
        _qgemm,
        "alpha:float transA:int transB:int",
        T="float",
        TA=_BYTES,
        TB=_BYTES,
        TC="int32",
        TYZ=_BYTES,
        TY=f"float {_BYTES}",
    ),
)
