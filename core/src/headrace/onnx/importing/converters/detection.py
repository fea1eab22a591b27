"""ONNX nodes for: boxes that are chosen among many."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from headrace.numpy_ops import evaluate
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor
from headrace.tensor_spec import Array


def _non_max_suppression(node: Node) -> Tensor:
    """The boxes that are chosen, as [batch, class, box] each.

    The device chooses them, or else the host: few of them are left, and only their number ends the
    stage.
    """
    inputs = [node.input(0), node.input(1)]
    most, overlap, least = (_option(node, index) for index in (2, 3, 4))
    call = node.call(
        "non_max_suppression",
        inputs,
        outputs=2,
        max_output_boxes_per_class=int(most or 0),
        iou_threshold=overlap or 0.0,
        score_threshold=-math.inf if least is None else least,
        center_point_box=bool(node.attr("center_point_box", 0)),
    )
    if not node.has_kernel(call):
        return node.measured((0, 1), lambda *arrays: _listed(*evaluate(call, arrays)))[0]
    made = node.op(call.op, inputs, outputs=2, **call.attrs)
    return node.measured_of(made, _listed)[1][0]


def _listed(chosen: Array, counts: Array) -> tuple[Array]:
    """A row for each box, class by class."""
    if counts.size == 1:  # the most usual, in a fifth of the time
        found = chosen[0, 0, : counts.item()]
        rows = np.zeros((found.size, 3), np.int64)
        rows[:, 2] = found
        return (rows,)
    is_chosen = np.arange(chosen.shape[2]) < counts[:, :, np.newaxis]
    listed = np.argwhere(is_chosen)
    listed[:, 2] = chosen[is_chosen]
    return (np.ascontiguousarray(listed),)


def _option(node: Node, index: int) -> float | None:
    if node.optional(index) is None:
        return None
    value = node.value(index)
    if value.size != 1:
        node.invalid(f"input {index} is one number; it has shape {value.shape}")
    return float(value.reshape(-1)[0])


CONVERTERS: Mapping[str, Converter] = {"NonMaxSuppression": _non_max_suppression}
