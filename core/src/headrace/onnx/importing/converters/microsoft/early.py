"""What exporters wrote in this domain where ONNX had no such op, or not yet."""

from __future__ import annotations

import math

import numpy as np

from headrace.onnx.importing.axes import normal_axis
from headrace.onnx.importing.contrib import declare
from headrace.onnx.importing.converters.sampling import CONVERTERS as SAMPLES
from headrace.onnx.importing.converters.slice import CONVERTERS as SLICES
from headrace.onnx.importing.formula import at_least_float32, cast, scalar, with_number
from headrace.onnx.importing.node import Node
from headrace.ops import Tensor


def _distances(node: Node) -> Tensor:
    """Of each row of A to each row of B: of ``a @ a + b @ b - 2 * (a @ b)``, at least 0."""
    a, b = node.input(0), node.input(1)
    if a.spec.rank != 2 or b.spec.rank != 2 or a.spec.shape[1] != b.spec.shape[1]:
        node.invalid(f"takes matrices of as many columns, not {a.spec} and {b.spec}")
    metric = node.attr("metric", "sqeuclidean")
    if metric not in ("sqeuclidean", "euclidean"):
        node.invalid(f"metric {metric!r} is none of sqeuclidean, euclidean")
    products = node.one("matmul", [a, node.one("transpose", [b], perm=(1, 0))])
    squares = node.one("add", [_lengths(node, a, (-1, 1)), _lengths(node, b, (1, -1))])
    between = node.one("subtract", [squares, with_number(node, "multiply", products, 2)])
    between = with_number(node, "maximum", between, 0)
    return between if metric == "sqeuclidean" else node.one("sqrt", [between])


def _lengths(node: Node, x: Tensor, shape: tuple[int, int]) -> Tensor:
    """The sum of squares of each row, as a row or as a column."""
    sums = node.one("reduce_sum", [node.one("multiply", [x, x])], axes=(1,), keep_dims=False)
    return node.one("reshape", [sums], shape=shape)


def _inverse(node: Node) -> Tensor:
    """By elimination, beside the unit matrix, with the largest of each column as its pivot."""
    x = node.input(0)
    *batch, size, columns = x.spec.shape if x.spec.rank > 1 else (0, 1)
    if x.spec.rank < 2 or size != columns:
        node.invalid(f"input 0 is {x.spec}; it must be square matrices")
    dtype = at_least_float32(x.spec.dtype)
    count = math.prod(batch)
    rest = node.one("reshape", [cast(node, x, dtype)], shape=(count, size, size))
    unit = np.broadcast_to(np.eye(size, dtype=dtype.numpy), (count, size, size))
    rest = node.one("concat", [rest, node.constant(np.ascontiguousarray(unit))], axis=2)
    rows = np.arange(size).reshape(1, size, 1)
    none = scalar(node, 0, rest)
    for place in range(size):
        here, column = node.constant(rows == place), _part(node, rest, 2, place)
        left = node.one("abs", [column])
        left = node.one("where", [node.constant(rows < place), scalar(node, -1, left), left])
        largest = node.one("argmax", [left], axis=1, keep_dims=True)
        chosen = node.one("equal", [node.constant(rows), largest])
        row = node.one("where", [chosen, rest, none])
        row = node.one("reduce_sum", [row], axes=(1,), keep_dims=True)
        row = node.one("divide", [row, _part(node, row, 2, place)])
        rest = node.one("where", [chosen, _part(node, rest, 1, place), rest])
        taken = node.one("multiply", [_part(node, rest, 2, place), row])
        rest = node.one("where", [here, row, node.one("subtract", [rest, taken])])
    y = node.one("slice", [rest], starts=(size,), ends=(2 * size,), axes=(2,))
    return cast(node, node.one("reshape", [y], shape=x.spec.shape), x.spec.dtype)


def _part(node: Node, x: Tensor, axis: int, place: int) -> Tensor:
    return node.one("slice", [x], starts=(place,), ends=(place + 1,), axes=(axis,))


def _expand_dims(node: Node) -> Tensor:
    """An axis of 1 before the given one; a negative one counts from the end of the result."""
    x, axes = node.input(0), node.ints(1)
    if axes is None or len(axes) != 1:
        node.invalid(f"input 1 is {axes}; it must be one axis")
    axis = normal_axis(node, axes[0], x.spec.rank + 1)
    shape = (*x.spec.shape[:axis], 1, *x.spec.shape[axis:])
    return node.one("reshape", [x], shape=shape)


_NUMBERS = "float16 float double bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool"

OPS = (
    declare("CDist", "A:T B:T", "C:T", _distances, "metric:string", T="float double"),
    declare("ExpandDims", "X:T axis:int32", "Y:T", _expand_dims, T=_NUMBERS),
    declare(
        "GridSample",
        "X:T Grid:T",
        "Y:T",
        SAMPLES["GridSample"],
        "align_corners:int mode:string padding_mode:string",
        T="float16 float double",
    ),
    declare("Inverse", "X:T", "Y:T", _inverse, T="float16 float double"),
    declare("Trilu", "X:T k:K?", "Y:T", SLICES["Trilu"], "upper:int", T=_NUMBERS, K="int64"),
)
