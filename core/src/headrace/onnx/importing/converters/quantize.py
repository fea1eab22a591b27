"""ONNX nodes for: numbers as small integers."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.dtypes import DType, float32, uint8
from headrace.onnx.file.tensors import dtype_from_onnx
from headrace.onnx.importing.formula import cast, scalar
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def _quantize_linear(node: Node) -> Tensor:
    x, scale, zero = node.input(0), node.input(1), node.optional(2)
    dtype = _declared(node, "output_dtype") or (uint8 if zero is None else zero.spec.dtype)
    if zero is not None and zero.spec.dtype != dtype:
        node.invalid(f"output_dtype is {dtype} and y_zero_point is {zero.spec}")
    precision = _declared(node, "precision")
    if precision not in (None, float32):
        node.refuse(f"precision is {precision}; quotients are computed in float32")
    return node.one(
        "quantize",
        [x, scale, zero],
        dtype=dtype,
        saturate=node.attr("saturate", 1),
        **_granularity(node),
    )


def _dequantize_linear(node: Node) -> Tensor:
    x, scale, zero = node.input(0), node.input(1), node.optional(2)
    dtype = _declared(node, "output_dtype") or scale.spec.dtype
    return node.one("dequantize", [x, scale, zero], dtype=dtype, **_granularity(node))


def _dynamic_quantize_linear(node: Node) -> tuple[Tensor, ...]:
    return node.op("dynamic_quantize", [node.input(0)], outputs=3)


def _granularity(node: Node) -> dict[str, int]:
    scale, size = node.input(1).spec, node.attr("block_size", 0)
    if scale.rank > 1 and not size:
        node.invalid(f"the scale is {scale}, for blocks, and block_size is not given")
    # A block size without blocks means nothing: the shape of the scale says what is meant.
    blocked = scale.rank == node.input(0).spec.rank and scale.rank > 0
    return {"axis": node.attr("axis", 1), "block_size": size if blocked else 0}


def _declared(node: Node, attribute: str) -> DType | None:
    number = node.attr(attribute, 0)
    return dtype_from_onnx(number, f"{node}: {attribute}") if number else None


def requantize(node: Node, sums: Tensor, scale: Tensor, y_scale: int, y_zero: int) -> Tensor:
    """Integer sums of products, each worth ``scale``, as the quantized output of ``node``.

    Args:
        node: the node; inputs ``y_scale`` and ``y_zero`` are those of its output.
        sums: int32.
        scale: float32; broadcasts to ``sums``.
        y_scale: index of an input.
        y_zero: index of an input.
    """
    target, zero = node.input(y_scale), node.input(y_zero)
    if target.spec.elements != 1 or zero.spec.elements != 1:
        node.refuse(f"the output's scale is {target.spec}; one scale for the whole output runs")
    target, zero = (node.one("reshape", [tensor], shape=()) for tensor in (target, zero))
    factor = node.one("divide", [scale, cast(node, target, float32)])
    y = node.one("multiply", [cast(node, sums, float32), factor])
    return node.one("quantize", [y, scalar(node, 1, y), zero], dtype=zero.spec.dtype)


CONVERTERS: Mapping[str, Converter] = {
    "QuantizeLinear": _quantize_linear,
    "DequantizeLinear": _dequantize_linear,
    "DynamicQuantizeLinear": _dynamic_quantize_linear,
}
