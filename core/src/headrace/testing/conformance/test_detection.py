"""Boxes that are chosen among many, on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.tensor_spec import Array
from headrace.testing.case import Case
from headrace.testing.run import check_case

_FOUR = np.array([[[0, 0, 2, 2], [0, 0, 2, 1.5], [5, 5, 4, 4], [0, 1, 2, 3]]], np.float32)
_SCORES = np.array([[[0.5, 0.75, 0.125, 0.625], [0.25, 0.0, 0.125, 0.0]]], np.float32)
_NAN, _INF = np.nan, np.inf


def _case(
    name: str, boxes: Array, scores: Array, most: int = 9, iou: float = 0.5, **attrs: object
) -> Case:
    given = {"max_output_boxes_per_class": most, "iou_threshold": iou, **attrs}
    return Case(name, "non_max_suppression", (boxes, scores), given, 2)


def _drawn(batch: int, classes: int, count: int) -> tuple[Array, Array]:
    """Boxes of small whole numbers, many of which meet a threshold exactly; scores with ties."""
    draw = np.random.default_rng(11)
    corner, size = draw.integers(0, 24, (batch, count, 2)), draw.integers(0, 9, (batch, count, 2))
    boxes = np.concatenate([corner, corner + size], axis=2).astype(np.float32)
    scores = draw.integers(0, count // 2 + 2, (batch, classes, count)).astype(np.float32)
    return boxes, scores / 64


def _centred(boxes: Array) -> Array:
    first, second = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([(first + second) / 2, second - first], axis=2)


_FEW = _drawn(2, 3, 40)

CASES: tuple[Case, ...] = (
    _case("classes", _FOUR, _SCORES),
    _case("most", _FOUR, _SCORES, most=2),
    _case("none-asked-for", _FOUR, _SCORES, most=0),
    _case("above", _FOUR, _SCORES, score_threshold=0.125),
    _case("none-above", _FOUR, _SCORES, score_threshold=9.0),
    _case("all-overlap", _FOUR, _SCORES, iou=0.0),
    _case("none-overlaps", _FOUR, _SCORES, iou=1.0),
    _case("batches", *_FEW, most=12),
    _case("batches-above", *_FEW, iou=0.25, score_threshold=0.125),
    _case("centred", _centred(_FEW[0]), _FEW[1], most=12, center_point_box=True),
    _case("turned", _FEW[0][..., [2, 1, 0, 3]], _FEW[1], most=12),
    _case("many", *_drawn(1, 2, 300), most=300, iou=0.25),
    _case("equal-scores", _FEW[0], np.zeros_like(_FEW[1]), most=40),
    _case("signs-of-zero", _FOUR, np.array([[[-0.0, 0.0, -0.0, 0.0]]], np.float32)),
    _case("no-numbers", _FOUR, np.array([[[_NAN, -_INF, _INF, _NAN]]], np.float32), iou=0.75),
    _case("no-box", np.zeros((2, 0, 4), np.float32), np.zeros((2, 3, 0), np.float32)),
    _case("no-class", _FOUR, np.zeros((1, 0, 4), np.float32)),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_detection(device: str, case: Case) -> None:
    """The best boxes are chosen, and none that a better one overlaps."""
    check_case(device, case)
