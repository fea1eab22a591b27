"""ONNX nodes for: products of matrices."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.einsum import contract, read_equation
from headrace.onnx.formula import at_least_float32, cast, scalar
from headrace.onnx.node import Converter, Node
from headrace.ops import Tensor


def _matmul(node: Node) -> Tensor:
    return node.one("matmul", [node.input(0), node.input(1)])


def _gemm(node: Node) -> Tensor:
    a, b, c = node.input(0), node.input(1), node.optional(2)
    if a.spec.rank != 2 or b.spec.rank != 2:
        node.invalid(f"A and B must have rank 2; they are {a.spec} and {b.spec}")
    dtype = a.spec.dtype
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    if alpha != 1 or (beta != 1 and c is not None):
        # A product that only `alpha` brings back into the range of half floats must not overflow.
        wide = at_least_float32(dtype)
        a, b = cast(node, a, wide), cast(node, b, wide)
        c = None if c is None else cast(node, c, wide)
    transposed = {"transpose_a": node.attr("transA", 0), "transpose_b": node.attr("transB", 0)}
    y = _scaled(node, node.one("matmul", [a, b], **transposed), alpha, "alpha")
    if c is not None and beta != 0:
        total = node.one("add", [y, _scaled(node, c, beta, "beta")])
        if total.spec.shape != y.spec.shape:
            node.invalid(f"C {c.spec} does not broadcast to the shape of the product, {y.spec}")
        y = total
    return cast(node, y, dtype)


def _scaled(node: Node, x: Tensor, factor: float, name: str) -> Tensor:
    if factor == 1:
        return x
    if x.spec.dtype.is_int and not float(factor).is_integer():
        node.refuse(f"{name} {factor} times {x.spec.dtype}; whole factors of integers run")
    value = factor if x.spec.dtype.is_float else int(factor)
    return node.one("multiply", [x, scalar(node, value, x)])


def _einsum(node: Node) -> Tensor:
    inputs = [node.input(index) for index in range(len(node.inputs))]
    if not inputs:
        node.invalid("multiplies nothing")
    equation = read_equation(node, node.attr("equation"), [x.spec.rank for x in inputs])
    return contract(node, equation, inputs)


CONVERTERS: Mapping[str, Converter] = {
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Einsum": _einsum,
}
