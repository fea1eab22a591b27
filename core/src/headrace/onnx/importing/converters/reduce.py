"""ONNX nodes for: axes folded into one element."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headrace.dtypes import DType, float64
from headrace.onnx.importing.axes import normal_axes
from headrace.onnx.importing.formula import at_least_float32, cast, scalar
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor

Fold = Callable[[str, Tensor], Tensor]
"""``fold(op, x)``: the reduction ``op`` of ``x`` over the node's axes; ``x`` itself if none."""


def _fold_of(node: Node) -> Fold:
    axes, keep = _axes(node), bool(node.attr("keepdims", 1))

    def fold(op: str, x: Tensor) -> Tensor:
        return x if axes is None else node.one(op, [x], axes=axes, keep_dims=keep)

    return fold


def _axes(node: Node) -> tuple[int, ...] | None:
    """The node's axes; all when it names none, or None when that means not to fold."""
    rank = node.input(0).spec.rank
    given = node.attr("axes", []) if node.has_attr("axes") else node.ints(1)
    if given:
        return normal_axes(node, given, rank)
    if node.attr("noop_with_empty_axes", 0):
        return None
    return tuple(range(rank))


def _plain(op: str) -> Converter:
    """The node that is one reduction of headrace."""

    def convert(node: Node) -> Tensor:
        return _fold_of(node)(op, node.input(0))

    return convert


def _mean(node: Node) -> Tensor:
    """Of nothing, which ONNX leaves undefined, it is 0 as in onnxruntime: exporters of nets that
    average the rows of a bag count on it where a bag is empty.
    """
    x = node.input(0)
    return _fold_of(node)("reduce_mean" if x.spec.elements else "reduce_sum", x)


def _composed(say: Callable[[Node, Tensor, Fold], Tensor], computed: DTypeRule) -> Converter:
    """The node that ``say`` composes, in the dtype that ``computed`` names, then cast back."""

    def convert(node: Node) -> Tensor:
        x = node.input(0)
        dtype = x.spec.dtype
        return cast(node, say(node, cast(node, x, computed(dtype)), _fold_of(node)), dtype)

    return convert


DTypeRule = Callable[[DType], DType]


def _real(dtype: DType) -> DType:
    """Roots and logarithms of integers are taken in float64, then cut."""
    return float64 if dtype.is_int else at_least_float32(dtype)


def _l1(node: Node, x: Tensor, fold: Fold) -> Tensor:
    return fold("reduce_sum", node.one("abs", [x]))


def _sum_square(node: Node, x: Tensor, fold: Fold) -> Tensor:
    return fold("reduce_sum", node.one("multiply", [x, x]))


def _l2(node: Node, x: Tensor, fold: Fold) -> Tensor:
    return node.one("sqrt", [_sum_square(node, x, fold)])


def _log_sum(node: Node, x: Tensor, fold: Fold) -> Tensor:
    return node.one("log", [fold("reduce_sum", x)])


def _log_sum_exp(node: Node, x: Tensor, fold: Fold) -> Tensor:
    axes = _axes(node)
    if axes is None:
        return x
    # Less the greatest, exp cannot overflow; an infinite greatest would make NaN of inf - inf.
    greatest = node.one("reduce_max", [x], axes=axes, keep_dims=True)
    infinite = node.one("is_inf", [greatest])
    shift = node.one("where", [infinite, scalar(node, 0, x), greatest])
    total = fold("reduce_sum", node.one("exp", [node.one("subtract", [x, shift])]))
    back = shift
    if total.spec.shape != shift.spec.shape:
        back = node.one("reshape", [shift], shape=total.spec.shape)
    return node.one("add", [node.one("log", [total]), back])


def _arg(op: str) -> Converter:
    def convert(node: Node) -> Tensor:
        return node.one(
            op,
            [node.input(0)],
            axis=node.attr("axis", 0),
            keep_dims=node.attr("keepdims", 1),
            select_last_index=node.attr("select_last_index", 0),
        )

    return convert


CONVERTERS: Mapping[str, Converter] = {
    "ReduceSum": _plain("reduce_sum"),
    "ReduceMean": _mean,
    "ReduceMax": _plain("reduce_max"),
    "ReduceMin": _plain("reduce_min"),
    "ReduceProd": _plain("reduce_prod"),
    "ReduceL1": _composed(_l1, at_least_float32),
    "ReduceL2": _composed(_l2, _real),
    "ReduceLogSum": _composed(_log_sum, _real),
    "ReduceLogSumExp": _composed(_log_sum_exp, _real),
    "ReduceSumSquare": _composed(_sum_square, at_least_float32),
    "ArgMax": _arg("argmax"),
    "ArgMin": _arg("argmin"),
}
