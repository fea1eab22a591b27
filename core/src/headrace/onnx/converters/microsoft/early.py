"""What exporters wrote in this domain where ONNX had no such op, or not yet."""

from __future__ import annotations

from headrace.onnx.contrib import declare
from headrace.onnx.converters.sampling import CONVERTERS as SAMPLES
from headrace.onnx.converters.slice import CONVERTERS as SLICES
from headrace.onnx.formula import with_number
from headrace.onnx.node import Node
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


_NUMBERS = "float16 float double bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool"

OPS = (
    declare("CDist", "A:T B:T", "C:T", _distances, "metric:string", T="float double"),
    declare(
        "GridSample",
        "X:T Grid:T",
        "Y:T",
        SAMPLES["GridSample"],
        "align_corners:int mode:string padding_mode:string",
        T="float16 float double",
    ),
    declare("Trilu", "X:T k:K?", "Y:T", SLICES["Trilu"], "upper:int", T=_NUMBERS, K="int64"),
)
