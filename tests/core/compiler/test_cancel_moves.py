"""Moves that undo each other, become one, or move nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import permutations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.compiler.passes.cancel_moves import cancel_moves, holds
from headrace.compiler.passes.remove_dead_ops import remove_dead_ops
from headrace.compiler.verify import verify_job_graph
from headrace.dtypes import BOOL, NUMBERS, DType
from headrace.graph import JobGraph, JobGraphBuilder, SbpHint
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.sbp import Split
from headrace.tensor_spec import TensorSpec

HOST = Placement.of_device("cpu")


def chain(spec: TensorSpec, *moves: tuple[str, Mapping[str, object]]) -> JobGraph:
    """A job that does the moves one after another; every result of them that is named is one."""
    builder = JobGraphBuilder("job", HOST)
    y: Tensor = builder.input("x", spec)
    for op, attrs in moves:
        (y,) = builder.op(op, [y], attrs=attrs)
    builder.output("y", y)
    return builder.finish()


def left(graph: JobGraph) -> list[tuple[str, dict[str, object]]]:
    """What remains, after dead ops are gone."""
    done = remove_dead_ops(cancel_moves(graph))
    verify_job_graph(done, "cancel_moves")
    assert [t.spec for _, t in done.outputs] == [t.spec for _, t in graph.outputs]
    return [(op.call.op, dict(op.call.attrs)) for op in done.ops]


@given(st.permutations(range(4)), st.permutations(range(4)), st.permutations(range(4)))
def test_transposes_become_one(a: list[int], b: list[int], c: list[int]) -> None:
    """The one that numpy makes of them, and none where that is the identity."""
    spec = TensorSpec((2, 3, 4, 5), "float32")
    moves = [("transpose", {"perm": tuple(perm)}) for perm in (a, b, c)]
    remaining = left(chain(spec, *moves))
    x = np.arange(math.prod(spec.shape)).reshape(spec.shape)
    want = x.transpose(a).transpose(b).transpose(c)
    got = x
    for op, attrs in remaining:
        assert op == "transpose"
        got = got.transpose(attrs["perm"])  # type: ignore[call-overload]
    np.testing.assert_array_equal(got, want)
    assert len(remaining) <= 1


def test_all_pairs_that_undo_each_other_vanish() -> None:
    """Every permutation of three axes, and its inverse."""
    for perm in permutations(range(3)):
        back = tuple(np.argsort(perm).tolist())
        moves = (("transpose", {"perm": perm}), ("transpose", {"perm": back}))
        assert left(chain(TensorSpec((2, 3, 4), "float32"), *moves)) == []


def test_reshapes_become_one_or_none() -> None:
    """The last shape counts; back at the first, nothing is left."""
    spec = TensorSpec((2, 6), "float32")
    there = ("reshape", {"shape": (3, 4)})
    assert left(chain(spec, there, ("reshape", {"shape": (12,)}))) == [
        ("reshape", {"shape": (12,)})
    ]
    assert left(chain(spec, there, ("reshape", {"shape": (2, -1)}))) == []


def test_a_cast_that_keeps_every_value_is_not_needed_on_the_way() -> None:
    """int8 to float32 and back is nothing; float32 to int8 and back is not."""
    there = lambda dtype: ("cast", {"dtype": dtype})  # noqa: E731
    assert left(chain(TensorSpec((2,), "int8"), there("float32"), there("int8"))) == []
    assert len(left(chain(TensorSpec((2,), "float32"), there("int8"), there("float32")))) == 2
    (one,) = left(chain(TensorSpec((2,), "int8"), there("float32"), there("float64")))
    assert str(one[1]["dtype"]) == "float64"


@pytest.mark.parametrize(
    ("source", "between", "target", "ops"),
    [
        ("uint8", "float32", "int8", 2),  # 200 is kept at 127; without the float it is -56
        ("int8", "float16", "uint64", 2),  # -1 is kept at 0; without the float it is 2**64 - 1
        ("uint32", "float64", "int4", 2),
        ("uint8", "float32", "int16", 1),
        ("bool", "float32", "int8", 1),
        ("uint8", "int32", "int8", 1),  # wraps, either way
        ("int16", "float32", "bool", 1),
    ],
)
def test_a_float_on_the_way_to_integers_that_are_too_small_stays(
    source: str, between: str, target: str, ops: int
) -> None:
    """A float is kept within the range of the integer that it becomes; an integer wraps."""
    moves = [("cast", {"dtype": dtype}) for dtype in (between, target)]
    assert len(left(chain(TensorSpec((2,), source), *moves))) == ops


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("slice", {"axes": (1,), "starts": (0,), "ends": (1 << 62,)}),
        ("slice", {"axes": (2,), "starts": (-1,), "ends": (-9,), "steps": (-1,)}),
        ("cast", {"dtype": "float32"}),
        ("reshape", {"shape": (2, -1, 1)}),
        ("transpose", {"perm": (0, 1, 2)}),
        ("expand", {"shape": (2, 3, 1)}),
        ("tile", {"repeats": (1, 1, 1)}),
    ],
)
def test_what_makes_just_what_it_reads_is_left_out(op: str, attrs: Mapping[str, object]) -> None:
    """Alone, and between two moves, which then follow each other."""
    spec = TensorSpec((2, 3, 1), "float32")
    assert left(chain(spec, (op, attrs))) == []
    turn = ("transpose", {"perm": (1, 0, 2)})
    back = ("transpose", {"perm": (1, 0, 2)})
    assert left(chain(spec, turn, turn, (op, attrs), back, back)) == []


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("slice", {"axes": (0,), "starts": (-1,), "ends": (-9,), "steps": (-1,)}),
        ("cast", {"dtype": "float64"}),
        ("transpose", {"perm": (1, 0, 2)}),
    ],
)
def test_what_makes_other_elements_of_the_same_shape_stays(
    op: str, attrs: Mapping[str, object]
) -> None:
    """Where axes are turned around, or exchanged with another as long."""
    assert len(left(chain(TensorSpec((3, 3, 1), "float32"), (op, attrs)))) == 1


def test_a_move_of_nothing_stays_between_tensors_that_lie_in_two_ways() -> None:
    """What it makes has a hint."""
    builder = JobGraphBuilder("job", HOST)
    x = builder.input("x", TensorSpec((4, 2), "float32"))
    (y,) = builder.op("reshape", [x], shape=(4, 2))
    builder.hint(y, SbpHint((Split(0),)))
    builder.output("y", y)
    assert len(cancel_moves(builder.finish()).ops) == 1


def test_what_others_read_stays() -> None:
    """The first of two transposes is a result of its own."""
    builder = JobGraphBuilder("job", HOST)
    x = builder.input("x", TensorSpec((2, 3), "float32"))
    (a,) = builder.op("transpose", [x], perm=(1, 0))
    (b,) = builder.op("transpose", [a], perm=(1, 0))
    builder.output("a", a)
    builder.output("b", b)
    done = remove_dead_ops(cancel_moves(builder.finish()))
    assert [op.call.op for op in done.ops] == ["transpose"]
    assert dict(done.outputs)["b"] == x


@pytest.mark.parametrize("narrow", sorted(NUMBERS | BOOL), ids=str)
@pytest.mark.parametrize("wide", sorted(NUMBERS | BOOL), ids=str)
def test_wide_dtypes_hold_narrow_ones(wide: DType, narrow: DType) -> None:
    """The extreme values, and those next to them, come back from a round trip unchanged."""
    if narrow.name == "bool":
        edges = np.array([False, True])
    elif narrow.is_float:
        info = ml_dtypes.finfo(narrow.numpy)
        ulp = narrow.numpy.type(1) + info.eps
        edges = np.array([info.max, info.tiny, info.smallest_subnormal, -1.5, ulp], narrow.numpy)
    else:
        limits = np.iinfo(narrow.numpy)
        edges = np.array([limits.min, limits.min + 1, limits.max - 1, limits.max], narrow.numpy)
    with np.errstate(all="ignore"):
        back = edges.astype(wide.numpy).astype(narrow.numpy)
        exact = edges.astype(wide.numpy).astype(object) if not narrow.is_float else None
    if holds(wide, narrow):
        assert (back == edges).all()
    elif exact is not None and not wide.is_float and wide.name != "bool":
        assert any(int(value) != int(edge) for value, edge in zip(exact, edges, strict=True))
