"""ONNX nodes for: products of matrices."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from headrace.onnx.importing.einsum import contract, read_equation
from headrace.onnx.importing.formula import at_least_float32, cast, scalar
from headrace.onnx.importing.node import Converter, Node
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


def _det(node: Node) -> Tensor:
    """By elimination, each step with the largest element of its column for a pivot."""
    x = node.input(0)
    *batch, size, columns = x.spec.shape if x.spec.rank > 1 else (0, 1)
    if x.spec.rank < 2 or size != columns:
        node.invalid(f"input 0 is {x.spec}; it must be square matrices")
    if not size:  # a product of nothing
        return node.one("expand", [scalar(node, 1, x)], shape=tuple(batch))
    dtype = at_least_float32(x.spec.dtype)
    rest = node.one("reshape", [cast(node, x, dtype)], shape=(math.prod(batch), size, size))
    factors = []
    for left in range(size, 1, -1):
        column = _cut(node, rest, 2, 0, 1)
        largest = node.one("argmax", [node.one("abs", [column])], axis=1, keep_dims=True)
        rows = node.constant(np.arange(left).reshape(1, left, 1))
        chosen = node.one("equal", [rows, largest])
        pivots = node.one("where", [chosen, rest, scalar(node, 0, rest)])
        row = node.one("reduce_sum", [pivots], axes=(1,), keep_dims=True)
        # The first row takes the place of the pivot's, which turns the sign unless it is the same.
        others = [_cut(node, t, 1, 1, left) for t in (chosen, rest)]
        below = node.one("where", [others[0], _cut(node, rest, 1, 0, 1), others[1]])
        pivot = _cut(node, row, 2, 0, 1)
        is_first = _cut(node, chosen, 1, 0, 1)
        factors.append(node.one("where", [is_first, pivot, node.one("negative", [pivot])]))
        none = node.one("equal", [pivot, scalar(node, 0, pivot)])  # then all below are 0 as well
        divisor = node.one("where", [none, scalar(node, 1, pivot), pivot])
        share = node.one("divide", [_cut(node, below, 2, 0, 1), divisor])
        taken = node.one("multiply", [share, _cut(node, row, 2, 1, left)])
        rest = node.one("subtract", [_cut(node, below, 2, 1, left), taken])
    for factor in factors:
        rest = node.one("multiply", [rest, factor])
    return cast(node, node.one("reshape", [rest], shape=tuple(batch)), x.spec.dtype)


def _cut(node: Node, x: Tensor, axis: int, start: int, end: int) -> Tensor:
    return node.one("slice", [x], starts=(start,), ends=(end,), axes=(axis,))


CONVERTERS: Mapping[str, Converter] = {
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Einsum": _einsum,
    "Det": _det,
}
