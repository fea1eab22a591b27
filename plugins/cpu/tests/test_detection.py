"""Boxes that are chosen among many: against pairs of boxes, one by one, on any threads."""

from __future__ import annotations

import numpy as np
import pytest

import headrace_cpu
from headrace.tensor_spec import Array
from headrace_cpu import _native


def drawn(batch: int, classes: int, count: int) -> tuple[Array, Array]:
    """Overlapping boxes and scores, some of them equal."""
    draw = np.random.default_rng(3)
    corner = draw.uniform(0, 60, (batch, count, 2))
    boxes = np.concatenate([corner, corner + draw.uniform(2, 12, (batch, count, 2))], axis=2)
    scores = draw.integers(0, 400, (batch, classes, count)) / 400
    return boxes.astype(np.float32), scores.astype(np.float32)


def chosen_one_by_one(
    boxes: Array, scores: Array, most: int, overlap: float, least: float
) -> list[int]:
    """Each box, best first, against each that was chosen before."""
    kept: list[int] = []
    for box in np.argsort(-scores, kind="stable"):
        if not scores[box] > least or len(kept) == most:
            continue
        first = np.maximum(boxes[box, :2], boxes[kept, :2])
        sides = np.maximum(np.minimum(boxes[box, 2:], boxes[kept, 2:]) - first, 0)
        shared = sides.prod(axis=1)
        areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
        if (shared <= np.float32(overlap) * (areas[box] + areas[kept] - shared)).all():
            kept.append(int(box))
    return kept


@pytest.mark.parametrize(
    ("shape", "most", "overlap", "least"),
    [
        ((1, 1, 2000), 2000, 0.5, -np.inf),
        ((2, 5, 700), 40, 0.3, 0.25),
        ((1, 30, 900), 900, 0.6, 0.98),
        ((1, 3, 17), 5, 0.0, 0.0),
    ],
    ids=str,
)
def test_the_best_boxes_are_chosen(shape, most, overlap, least):
    """More than are sorted at first, of many classes, few of many: the same on any threads."""
    boxes, scores = drawn(*shape)
    made = []
    for threads in (1, 2, 3):
        headrace_cpu.set_threads(threads)
        chosen, counts = np.zeros((*shape[:2], most), np.int32), np.zeros(shape[:2], np.int32)
        _native.non_max_suppression(boxes, scores, chosen, counts, overlap, least, False)()
        made.append((chosen, counts))
    for batch, kind in np.ndindex(*shape[:2]):
        wanted = chosen_one_by_one(boxes[batch], scores[batch, kind], most, overlap, least)
        assert counts[batch, kind] == len(wanted)
        assert chosen[batch, kind].tolist() == wanted + [-1] * (most - len(wanted))
    for chosen, counts in made[:-1]:
        np.testing.assert_array_equal(chosen, made[-1][0])
        np.testing.assert_array_equal(counts, made[-1][1])


def test_more_boxes_than_there_are_cannot_be_chosen():
    """What is asked for is in the message."""
    boxes, scores = drawn(1, 1, 3)
    chosen, counts = np.zeros((1, 1, 4), np.int32), np.zeros((1, 1), np.int32)
    with pytest.raises(ValueError, match="4 of 3 boxes"):
        _native.non_max_suppression(boxes, scores, chosen, counts, 0.5, 0.0, False)
