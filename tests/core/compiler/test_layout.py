"""What each device holds of a tensor."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.compiler.sharding.layout import balanced, lay_out, meet
from headrace.sbp import NdSbp


@given(st.integers(0, 40), st.integers(1, 9))
def test_parts_are_those_of_numpy(total: int, parts: int) -> None:
    """Contiguous, in order, the first ones larger by one: as ``array_split`` cuts."""
    cut = np.array_split(np.arange(total), parts)
    for index, part in enumerate(cut):
        start, stop = balanced(total, parts, index)
        assert part.tolist() == list(range(start, stop))


@pytest.mark.parametrize(
    ("sbp", "hierarchy", "boxes"),
    [
        ("S(0)", (2,), [((0, 2), (0, 2)), ((2, 3), (0, 2))]),
        ("B", (2,), [((0, 3), (0, 2))] * 2),
        ("S(0),S(1)", (2, 2), [((0, 2), (0, 1)), ((0, 2), (1, 2)),
                               ((2, 3), (0, 1)), ((2, 3), (1, 2))]),
        ("B,S(1)", (2, 2), [((0, 3), (0, 1)), ((0, 3), (1, 2))] * 2),
    ],
)  # fmt: skip
def test_devices_hold_boxes(sbp: str, hierarchy: tuple[int, ...], boxes: list[object]) -> None:
    """By hand, for a tensor of 3 by 2: the last axis of the hierarchy runs fastest."""
    pieces = lay_out(NdSbp.parse(sbp), hierarchy, (3, 2))
    assert [piece.box for piece in pieces] == boxes


def test_shares_and_replicas_are_told_apart() -> None:
    """Partial results count along their axis, copies along theirs."""
    pieces = lay_out(NdSbp.parse("P,B"), (2, 2), (3,))
    assert [piece.share for piece in pieces] == [(0, 0), (0, 0), (1, 0), (1, 0)]
    assert [piece.replica for piece in pieces] == [(0, 0), (0, 1), (0, 0), (0, 1)]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.integers(1, 4), st.data())
def test_parts_of_a_split_tile_the_tensor(
    shape: list[int], count: int, data: st.DataObject
) -> None:
    """Every element is on one device, and any two parts have nothing in common."""
    axis = data.draw(st.integers(0, len(shape) - 1))
    pieces = lay_out(NdSbp.parse(f"S({axis})"), (count,), tuple(shape))
    assert sum(math.prod(piece.shape) for piece in pieces) == math.prod(shape)
    for i, one in enumerate(pieces):
        for other in pieces[i + 1 :]:
            common = meet(one.box, other.box)
            assert common is None or 0 in (b - a for a, b in common)
