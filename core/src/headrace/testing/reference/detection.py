"""Boxes that are chosen among many: the oracle, one pair of boxes at a time, in fractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from headrace.tensor_spec import Array

_Box = tuple[Fraction, Fraction, Fraction, Fraction]


def _non_max_suppression(
    boxes: Array,
    scores: Array,
    *,
    max_output_boxes_per_class: int,
    iou_threshold: float,
    score_threshold: float,
    center_point_box: bool,
) -> tuple[Array, Array]:
    batch, classes, count = scores.shape
    most = min(max_output_boxes_per_class, count)
    chosen = np.full((batch, classes, most), -1, np.int32)
    counts = np.zeros((batch, classes), np.int32)
    for image, kind in np.ndindex(batch, classes):
        areas = [_corners(row.tolist(), center_point_box) for row in boxes[image]]
        line = scores[image, kind].tolist()
        wanted = [
            n for n in range(count) if math.isinf(score_threshold) or line[n] > score_threshold
        ]
        wanted.sort(key=lambda n: (math.isnan(line[n]), 0.0 if math.isnan(line[n]) else -line[n]))
        kept: list[int] = []
        for box in wanted:
            limit = Fraction(iou_threshold)
            if len(kept) < most and all(_share(areas[box], areas[k]) <= limit for k in kept):
                kept.append(box)
        chosen[image, kind, : len(kept)] = kept
        counts[image, kind] = len(kept)
    return chosen, counts


def _corners(box: list[float], is_centred: bool) -> _Box:
    a, b, c, d = map(Fraction, box)
    if is_centred:
        return a - c / 2, b - d / 2, a + c / 2, b + d / 2
    return min(a, c), min(b, d), max(a, c), max(b, d)


def _share(one: _Box, other: _Box) -> Fraction:
    """What both cover of what either covers."""
    height = min(one[2], other[2]) - max(one[0], other[0])
    width = min(one[3], other[3]) - max(one[1], other[1])
    if height <= 0 or width <= 0:
        return Fraction(0)
    areas = sum((bottom - top) * (right - left) for top, left, bottom, right in (one, other))
    return height * width / (areas - height * width)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"non_max_suppression": _non_max_suppression}
