"""ONNX nodes for: running sums and products."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from headrace.onnx.importing.axes import normal_axis
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def _running(node: Node, reduction: str) -> Tensor:
    x, axes = node.input(0), node.ints(1)
    if axes is None or len(axes) != 1:
        node.invalid(f"axis must be one number; it is {axes}")
    return node.one(
        "cumulative",
        [x],
        axis=normal_axis(node, axes[0], x.spec.rank),
        reduction=reduction,
        exclusive=bool(node.attr("exclusive", 0)),
        reverse=bool(node.attr("reverse", 0)),
    )


CONVERTERS: Mapping[str, Converter] = {
    "CumSum": partial(_running, reduction="sum"),
    "CumProd": partial(_running, reduction="product"),
}
