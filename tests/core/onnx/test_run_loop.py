"""Loops whose end is computed: the host runs the body, whose jobs are made once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, helper
from onnx_models import BOOL, INT64, info, model, node

from headrace.errors import ResourceLimitError, UnsupportedModelError
from headrace.onnx.file import limits

SIDE = 20
X = np.arange(SIDE * SIDE, dtype=np.float32).reshape(SIDE, SIDE)
"""Larger than what becomes a part of a job, so that no loop is written out."""

FIRST = [info("i", [], INT64), info("go", [], BOOL)]
STATE = info("s", [SIDE, SIDE])


def body_of(nodes: list[Any], inputs: list[Any], outputs: list[Any]) -> GraphProto:
    return helper.make_graph(nodes, "body", [*FIRST, *inputs], outputs)


def halving(slices: bool = False) -> Any:
    """Halves a picture while its largest element is above a threshold; slices are the largest."""
    body = body_of(
        [
            node("Mul", "s half", "s_out"),
            node("ReduceMax", "s_out", "most", keepdims=0),
            node("Greater", "most threshold", "go_out"),
            node("Identity", "most", "copy"),
        ],
        [STATE],
        [info("go_out", [], BOOL), info("s_out", [SIDE, SIDE])] + [info("copy", [])] * slices,
    )
    return model(
        [
            node("ReduceMax", "x", "largest", keepdims=0),
            node("Greater", "largest threshold", "begin"),
            node("Loop", "- begin x", "y all" if slices else "y", body=body),
        ],
        [info("x", [SIDE, SIDE])],
        [info("y", [SIDE, SIDE])] + [info("all", ["n"])] * slices,
        {"half": np.array(0.5, np.float32), "threshold": np.array(1, np.float32)},
    )


def jobs_of_bodies(loaded: Any) -> list[int]:
    """How many jobs each body has."""
    stages = [job.then for job in loaded._jobs._jobs.values() if job.then is not None]
    return [len(stage.compute._guessed) + len(stage.compute._jobs) for stage in stages]


def test_a_loop_goes_on_as_long_as_what_it_computes_says(load_near: Any) -> None:
    """A hundred turns run one job, and so does the next call."""
    loaded = load_near(halving())
    for most, turns in ((6, 3), (2.0**100, 100), (40, 6)):
        x = np.full((SIDE, SIDE), most, np.float32)
        np.testing.assert_array_equal(loaded.run({"x": x})["y"], x / 2**turns)
    assert jobs_of_bodies(loaded) == [1]
    assert len(loaded._jobs) == 2


def test_slices_are_stacked(load_near: Any) -> None:
    """As many as there were turns; none where the condition fails before the first one."""
    loaded = load_near(halving(slices=True))
    assert loaded.run({"x": 0 * X + 6})["all"].tolist() == [3, 1.5, 0.75]
    never = loaded.run({"x": 0 * X})
    assert never["all"].shape == (0,)
    np.testing.assert_array_equal(never["y"], 0 * X)


def test_the_trip_count_may_be_computed(load_near: Any) -> None:
    """What a body takes from around it, and a state that no turn changes, are handed in."""
    body = body_of(
        [
            node("Add", "s step", "t"),
            node("Add", "t fixed", "s_out"),
            node("Identity", "go", "go_out"),
        ],
        [STATE, info("fixed", [SIDE, SIDE]), info("one", [])],
        [
            info("go_out", [], BOOL),
            info("s_out", [SIDE, SIDE]),
            info("fixed", [SIDE, SIDE]),
            info("one", []),
        ],
    )
    source = model(
        [
            node("ReduceMax", "x", "most", keepdims=0),
            node("Cast", "most", "count", to=INT64),
            node("Neg", "x", "step"),
            node("Loop", "count - x x one", "y same also", body=body),
            node("Add", "same also", "z"),
        ],
        [info("x", [SIDE, SIDE])],
        [info("y", [SIDE, SIDE]), info("z", [SIDE, SIDE])],
        {"one": np.array(1, np.float32)},
    )
    made = load_near(source).run({"x": X})
    np.testing.assert_array_equal(made["y"], X)  # x - x + x, every time
    np.testing.assert_array_equal(made["z"], X + 1)


def test_states_may_change_places_and_the_number_of_a_turn_is_read(load_near: Any) -> None:
    """What one turn hands on under another name is what the next one reads there."""
    body = body_of(
        [
            node("Cast", "i", "number", to=1),
            node("Add", "a number", "b_out"),
            node("ReduceMax", "a", "most", keepdims=0),
            node("Less", "most enough", "go_out"),
        ],
        [info("a", [SIDE, SIDE]), info("b", [SIDE, SIDE])],
        [info("go_out", [], BOOL), info("b", [SIDE, SIDE]), info("b_out", [SIDE, SIDE])],
    )
    source = model(
        [node("Neg", "x", "other"), node("Loop", "- - x other", "y z", body=body)],
        [info("x", [SIDE, SIDE])],
        [info("y", [SIDE, SIDE]), info("z", [SIDE, SIDE])],
        {"enough": np.array(402, np.float32)},
    )
    a, b, turn = X, -X, 0
    while True:
        go = a.max() < 402
        a, b, turn = b, a + np.float32(turn), turn + 1
        if not go:
            break
    made = load_near(source).run({"x": X})
    assert turn > 3
    np.testing.assert_array_equal(made["y"], a)
    np.testing.assert_array_equal(made["z"], b)


def test_a_body_may_run_in_stages_and_have_loops(load_near: Any) -> None:
    """The positive elements less one, while there is any, counted turn by turn."""
    inner = helper.make_graph(
        [node("Add", "c one", "c_out"), node("Less", "c_out found", "on_out")],
        "inner",
        [info("j", [], INT64), info("on", [], BOOL), info("c", [], INT64)],
        [info("on_out", [], BOOL), info("c_out", [], INT64)],
    )
    body = body_of(
        [
            node("Sub", "s unit", "s_out"),
            node("NonZero", "s_out", "where"),
            node("Shape", "where", "shape"),
            node("Gather", "shape one", "found"),
            node("Loop", "- - zero", "count", body=inner),
            node("ReduceMax", "s_out", "most", keepdims=0),
            node("Greater", "most threshold", "go_out"),
        ],
        [STATE],
        [info("go_out", [], BOOL), info("s_out", [SIDE, SIDE]), info("count", [], INT64)],
    )
    source = model(
        [node("Relu", "x", "p"), node("Loop", "- - p", "y counts", body=body)],
        [info("x", [SIDE, SIDE])],
        [info("y", [SIDE, SIDE]), info("counts", ["n"], INT64)],
        {
            "unit": np.array(1, np.float32),
            "threshold": np.array(0, np.float32),
            "one": np.array(1),
            "zero": np.array(0),
        },
    )
    x = np.zeros((SIDE, SIDE), np.float32)
    x[0, :3] = (1, 2, 3)
    made = load_near(source).run({"x": x})
    np.testing.assert_array_equal(made["y"], x - 3)
    assert made["counts"].tolist() == [399, 399, 399]


@pytest.mark.parametrize("ends", ["by its count", "by its condition"])
def test_a_long_loop_is_not_written_out(
    load_near: Any, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    """It takes one job, and gives what it gives where it is written out."""
    counted = ends == "by its count"
    body = body_of(
        [
            node("Add", "s s", "s_out"),
            node("Identity", "go", "go_out") if counted else node("Less", "i nine", "go_out"),
        ],
        [STATE],
        [info("go_out", [], BOOL), info("s_out", [SIDE, SIDE])],
    )
    source = model(
        [node("Loop", "ten - x" if counted else "- - x", "y", body=body)],
        [info("x", [SIDE, SIDE])],
        [info("y", [SIDE, SIDE])],
        {"ten": np.array(10), "nine": np.array(9)},
    )
    written = load_near(source)
    np.testing.assert_array_equal(written.run({"x": X})["y"], X * 1024)
    assert (len(written._jobs), jobs_of_bodies(written)) == (1, [])
    monkeypatch.setattr(limits, "WRITTEN_NODES", 19)
    run = load_near(source)
    np.testing.assert_array_equal(run.run({"x": X})["y"], X * 1024)
    assert (len(run._jobs), jobs_of_bodies(run)) == (2, [1])


def reading(size: int) -> Any:
    """Adds up ``size`` rows of the picture from the one that a counter says, until that is at n."""
    body = body_of(
        [
            node("Add", "at size", "end"),
            node("Slice", "x at end zero", "rows"),
            node("ReduceSum", "rows zero", "sum", keepdims=0),
            node("Add", "total sum", "total_out"),
            node("Add", "at one", "at_out"),
            node("ReduceMax", "x", "most", keepdims=0),
            node("Cast", "most", "count", to=INT64),
            node("Less", "at_out count", "below"),
            node("Squeeze", "below", "go_out"),
        ],
        [info("at", [1], INT64), info("total", [SIDE])],
        [info("go_out", [], BOOL), info("at_out", [1], INT64), info("total_out", [SIDE])],
    )
    return model(
        [
            node("ReduceMax", "x", "largest", keepdims=0),
            node("Greater", "largest nothing", "begin"),
            node("ReduceSum", "x zero", "sums", keepdims=0),
            node("Mul", "sums nothing", "zeros"),
            node("Loop", "- begin zero zeros", "at y", body=body),
        ],
        [info("x", [SIDE, SIDE])],
        [info("y", [SIDE])],
        {"zero": np.array([0]), "one": np.array([1]), "size": np.array([size]),
         "nothing": np.array(0, np.float32)},
        opset=18,
    )  # fmt: skip


@pytest.mark.parametrize("size", [1, 3])
def test_a_place_that_moves_takes_no_job_of_its_own(load_near: Any, size: int) -> None:
    """Only where the part is shorter, at the end, does another length take another job."""
    x = np.arange(SIDE * SIDE, dtype=np.float32).reshape(SIDE, SIDE) % 7
    for turns in (SIDE - size, SIDE + 2):
        x[0, 0] = turns
        with load_near(reading(size)) as loaded:
            got = loaded.run({"x": x})["y"]
            want = sum(x[at : at + size].sum(0) for at in range(turns))
            np.testing.assert_allclose(got, want, rtol=1e-6)
            # A turn in which nothing, or less, is left has a job for its counter.
            short = max(turns - (SIDE - size) - 1, 0)
            (jobs,) = jobs_of_bodies(loaded)
            assert jobs <= 1 + short


def test_a_state_that_grows_has_a_job_for_each_size(load_near: Any) -> None:
    """Rows are added, each half of the least before, until one is small."""
    body = body_of(
        [
            node("ReduceMin", "s", "least", axes=[0], keepdims=1),
            node("Mul", "least half", "row"),
            node("Concat", "s row", "s_out", axis=0),
            node("ReduceMax", "row", "most", keepdims=0),
            node("Greater", "most small", "go_out"),
        ],
        [info("s", ["rows", SIDE])],
        [info("go_out", [], BOOL), info("s_out", ["more", SIDE])],
    )
    source = model(
        [node("Loop", "- - x", "y", body=body)],
        [info("x", ["n", SIDE])],
        [info("y", ["m", SIDE])],
        {"half": np.array(0.5, np.float32), "small": np.array(0.1, np.float32)},
    )
    loaded = load_near(source)
    for rows in (4, 4, 6, 20):
        want = X[:rows]
        while len(want) == rows or want[-1].max() > np.float32(0.1):
            want = np.concatenate([want, want.min(0, keepdims=True) / 2])
        assert len(want) == rows + 8
        np.testing.assert_array_equal(loaded.run({"x": X[:rows]})["y"], want)


def branching() -> Any:
    """Halves and sorts rows where the sum is above a level, else adds one and turns; five times."""
    sort = helper.make_graph(
        [node("Mul", "s half", "h"), node("TopK", "h side", "sorted -", axis=1)],
        "sort",
        [],
        [info("sorted", [SIDE, SIDE])],
    )
    turn = helper.make_graph(
        [node("Add", "s unit", "a"), node("Transpose", "a", "turned", perm=[1, 0])],
        "turn",
        [],
        [info("turned", [SIDE, SIDE])],
    )
    body = body_of(
        [
            node("ReduceMean", "s", "mean", keepdims=0),
            node("Greater", "mean level", "is_above"),
            node("If", "is_above", "s_out", then_branch=sort, else_branch=turn),
            node("Sub", "left unit", "left_out"),
            node("Greater", "left_out none", "go_out"),
        ],
        [STATE, info("left", [])],
        [info("go_out", [], BOOL), info("s_out", [SIDE, SIDE]), info("left_out", [])],
    )
    return model(
        [
            node("ReduceMax", "x", "turns", keepdims=0),
            node("Loop", "- - x turns", "y left", body=body),
        ],
        [info("x", [SIDE, SIDE]), info("level", [])],
        [info("y", [SIDE, SIDE])],
        {
            "half": np.array(0.5, np.float32),
            "unit": np.array(1, np.float32),
            "none": np.array(0, np.float32),
            "side": np.array([SIDE]),
        },
    )


def test_a_branch_that_is_taken_again_and_again_needs_no_stage(load_near: Any) -> None:
    """The one taken twice is supposed to be taken next; where it is not, the result is the same."""
    loaded = load_near(branching())
    x = np.random.default_rng(5).random((SIDE, SIDE), dtype=np.float32) * 11.5
    x[0, 0] = 12
    taken: list[int] = []
    for level in (1e6, -1e6, 2, 5, 3):
        want, above = x, 0
        for _ in range(12):
            if want.mean() > level:
                want, above = -np.sort(-want * np.float32(0.5), axis=1), above + 1
            else:
                want = (want + 1).T
        got = loaded.run({"x": x, "level": np.array(level, np.float32)})["y"]
        np.testing.assert_allclose(got, want, rtol=1e-6)
        taken.append(above)
    assert taken[:2] == [0, 12]
    assert all(0 < above < 12 for above in taken[2:])
    # The condition, what follows it either way, and all of that as one, either way.
    assert jobs_of_bodies(loaded) == [5]


def test_a_loop_without_end_is_stopped(load_near: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit and the node are named, and the model runs on."""
    loaded = load_near(halving())
    monkeypatch.setattr(limits, "ITERATIONS", 4)
    with pytest.raises(ResourceLimitError, match=r"making 'y'.* more than 4 times"):
        loaded.run({"x": 0 * X + 1000})
    np.testing.assert_array_equal(loaded.run({"x": 0 * X + 6})["y"], 0 * X + 0.75)


def test_slices_of_no_turn_need_a_declared_shape(load_near: Any) -> None:
    """Else nobody knows what there is none of."""
    source = halving(slices=True)
    source.graph.node[2].attribute[0].g.output[2].type.tensor_type.ClearField("shape")
    loaded = load_near(source)
    with pytest.raises(UnsupportedModelError, match=r"never runs.* 'copy'; declare it"):
        loaded.run({"x": 0 * X})
    assert loaded.run({"x": 0 * X + 6})["all"].tolist() == [3, 1.5, 0.75]


def test_jobs_of_a_body_are_closed_with_the_model(load_near: Any) -> None:
    """Nothing of a loop outlives the model."""
    loaded = load_near(halving())
    loaded.run({"x": X})
    (stage,) = [job.then for job in loaded._jobs._jobs.values() if job.then is not None]
    loaded.close()
    assert len(stage.compute._jobs) == 0
