"""Boxes that are chosen among many, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.tensor_spec import Array


def _non_max_suppression(
    call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]
) -> None:
    corners, scores = _corners(call, given(inputs, 0)), given(inputs, 1)
    chosen, counts = outputs
    chosen[...] = -1
    for batch, kind in np.ndindex(*counts.shape):
        best = _best(call, corners[batch], scores[batch, kind], chosen.shape[2])
        chosen[batch, kind, : len(best)] = best
        counts[batch, kind] = len(best)


def _corners(call: OpCall, boxes: Array) -> Array:
    """Boxes as lower and upper corner [batch, boxes, 2, 2], from two corners or centre and size."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if call.flag_attr("center_point_box"):
        half = second / 2
        return np.stack([first - half, first + half], axis=2)
    return np.stack([np.minimum(first, second), np.maximum(first, second)], axis=2)


def _best(call: OpCall, corners: Array, scores: Array, most: int) -> list[int]:
    overlap = np.float32(call.float_attr("iou_threshold"))
    least = np.float32(call.float_attr("score_threshold"))
    order = np.argsort(-scores, kind="stable")
    if least > -np.inf:
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
        height = np.minimum(bottom[place], bottom[rest]) - np.maximum(top[place], top[rest])
        width = np.minimum(right[place], right[rest]) - np.maximum(left[place], left[rest])
        shared = np.maximum(height, 0) * np.maximum(width, 0)
        union = areas[place] + areas[rest] - shared
        open_[rest] &= ~((shared > 0) & (shared > overlap * union))
    return kept


FUNCTIONS: Mapping[str, NumpyFunction] = {"non_max_suppression": _non_max_suppression}
