"""What each device holds of a tensor."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.compiler.sharding.layout import Box, balanced, is_empty, lay_out, tile
from headrace.sbp import NdSbp


def common_to(a: Box, b: Box) -> Box:
    """What two boxes have in common; of ranges that do not meet an empty one."""
    starts = [max(p[0], q[0]) for p, q in zip(a, b, strict=True)]
    stops = [min(p[1], q[1]) for p, q in zip(a, b, strict=True)]
    return tuple((start, max(start, stop)) for start, stop in zip(starts, stops, strict=True))


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
            assert is_empty(common_to(one.box, other.box))


@given(st.data())
def test_a_tiling_finds_what_overlaps(data: st.DataObject) -> None:
    """Of any layout, and any box: the tiles that share an element with it, and what they share."""
    shape = tuple(data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    hierarchy = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    axes = [f"S({axis})" for axis in range(len(shape))] + ["B", "P"]
    sbp = NdSbp.parse(",".join(data.draw(st.sampled_from(axes)) for _ in hierarchy))
    wanted = []
    for dim in shape:
        start = data.draw(st.integers(0, dim - 1))
        wanted.append((start, data.draw(st.integers(start + 1, dim))))
    tiling, pieces = tile(sbp, hierarchy, shape), lay_out(sbp, hierarchy, shape)
    found = dict(tiling.overlapping(tuple(wanted)))
    want = {piece.box: common_to(piece.box, tuple(wanted)) for piece in pieces}
    assert found == {box: common for box, common in want.items() if not is_empty(common)}
    for index, piece in enumerate(pieces):
        replica = piece.replica if "P" in str(sbp) else ()
        assert index in tiling.holders[replica, piece.share, piece.box]
