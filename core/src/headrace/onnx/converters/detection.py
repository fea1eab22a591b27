"""ONNX nodes for: boxes that are chosen among many."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from headrace.onnx.node import Converter, Node
from headrace.ops import Tensor
from headrace.tensor_spec import Array


def _non_max_suppression(node: Node) -> Tensor:
    """The boxes of each class that no better one overlaps, as [batch, class, box] each."""
    boxes, scores = node.input(0).spec.shape, node.input(1).spec.shape
    if len(boxes) != 3 or boxes[2] != 4 or scores[::2] != boxes[:2]:
        node.invalid(
            "boxes are [batch, boxes, 4] and scores [batch, classes, boxes]; they have shapes "
            f"{boxes} and {scores}"
        )
    most, overlap, least = (_option(node, index) for index in (2, 3, 4))
    choose = partial(
        _chosen,
        most=int(most or 0),
        overlap=overlap or 0.0,
        least=least,
        is_centred=bool(node.attr("center_point_box", 0)),
    )
    return node.measured((0, 1), choose)[0]


def _chosen(
    boxes: Array, scores: Array, most: int, overlap: float, least: float | None, is_centred: bool
) -> tuple[Array]:
    corners = _corners(boxes.astype(np.float32), is_centred)
    chosen = [
        (batch, kind, box)
        for batch in range(scores.shape[0])
        for kind in range(scores.shape[1])
        for box in _best(corners[batch], scores[batch, kind], most, overlap, least)
    ]
    return (np.array(chosen, np.int64).reshape(-1, 3),)


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
    # In order and by coordinate, so that what is behind a box is a part of each array, not a copy.
    top, left, bottom, right = np.ascontiguousarray(corners[order].reshape(-1, 4).T)
    areas = (bottom - top) * (right - left)
    open_ = np.ones(len(order), bool)
    kept: list[int] = []
    for place, box in enumerate(order.tolist()):
        if len(kept) >= most:
            break
        if not open_[place]:
            continue
        kept.append(box)
        rest = slice(place + 1, None)
        shared = np.minimum(bottom[place], bottom[rest]) - np.maximum(top[place], top[rest])
        width = np.minimum(right[place], right[rest]) - np.maximum(left[place], left[rest])
        shared = np.maximum(shared, 0) * np.maximum(width, 0)
        union = areas[place] + areas[rest] - shared
        open_[rest] &= shared <= overlap * union
    return kept


CONVERTERS: Mapping[str, Converter] = {"NonMaxSuppression": _non_max_suppression}
