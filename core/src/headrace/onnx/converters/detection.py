"""ONNX nodes for: boxes that are chosen among many."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headrace.onnx.node import Converter, Node
from headrace.ops import Tensor
from headrace.tensor_spec import Array


def _non_max_suppression(node: Node) -> Tensor:
    """The boxes of each class that no better one overlaps, as [batch, class, box] each."""
    # How many there are depends on the values, so it is computed here and not on a device.
    boxes, scores = node.value(0).astype(np.float32), node.value(1)
    if boxes.ndim != 3 or boxes.shape[2] != 4 or scores.shape[::2] != boxes.shape[:2]:
        node.invalid(
            f"boxes are [batch, boxes, 4] and scores [batch, classes, boxes]; they have shapes "
            f"{boxes.shape} and {scores.shape}"
        )
    most, overlap, least = (_option(node, index) for index in (2, 3, 4))
    corners = _corners(boxes, bool(node.attr("center_point_box", 0)))
    chosen = [
        (batch, kind, box)
        for batch in range(scores.shape[0])
        for kind in range(scores.shape[1])
        for box in _best(corners[batch], scores[batch, kind], int(most or 0), overlap or 0, least)
    ]
    return node.constant(np.array(chosen, np.int64).reshape(-1, 3))


def _option(node: Node, index: int) -> float | None:
    if node.optional(index) is None:
        return None
    value = node.value(index)
    if value.size != 1:
        node.invalid(f"input {index} is one number; it has shape {value.shape}")
    return float(value.reshape(-1)[0])


def _corners(boxes: Array, is_centred: bool) -> Array:
    """Boxes as lower and upper corner [batch, boxes, 2, 2], from two corners or centre and size."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if is_centred:
        return np.stack([first - second / 2, first + second / 2], axis=2)
    return np.stack([np.minimum(first, second), np.maximum(first, second)], axis=2)


def _best(
    corners: Array, scores: Array, most: int, overlap: float, least: float | None
) -> list[int]:
    order = np.argsort(-scores, kind="stable")
    if least is not None:
        order = order[scores[order] > least]
    areas = np.prod(corners[:, 1] - corners[:, 0], axis=1)
    kept: list[int] = []
    while order.size and len(kept) < most:
        box, order = order[0], order[1:]
        kept.append(int(box))
        low = np.maximum(corners[box, 0], corners[order, 0])
        high = np.minimum(corners[box, 1], corners[order, 1])
        shared = np.prod(np.maximum(high - low, 0), axis=1)
        union = areas[box] + areas[order] - shared
        order = order[shared <= overlap * union]
    return kept


CONVERTERS: Mapping[str, Converter] = {"NonMaxSuppression": _non_max_suppression}
