"""Models whose shapes depend on what is computed: jobs one after another, the host between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_models import FLOAT, INT64, info, model, node

from headrace.errors import InvalidModelError, ResourceLimitError, UnsupportedModelError
from headrace.onnx.file import limits
from headrace.onnx.make_job import JobMaker
from headrace.tensor_spec import Array, TensorSpec

X = np.array([[1, -2, 3], [-4, 5, 6]], np.float32)

POSITIVE = model(
    [
        node("Add", "x x", "t"),
        node("Relu", "t", "p"),
        node("NonZero", "p", "where"),
        node("Transpose", "where", "at"),
        node("GatherND", "p at", "y"),
    ]
)
"""Twice the positive numbers."""


def ops_of(loaded: Any) -> list[set[str]]:
    """The ops of each job that the model keeps, in the order in which they were made."""
    jobs = loaded._jobs._jobs.values()
    return [{task.call.op for task in job.job.plan.tasks if task.call} for job in jobs]


def test_what_follows_a_count_is_built_for_the_count(load_near: Any) -> None:
    """Other numbers run the same jobs; as many others as there are counts run others."""
    loaded = load_near(POSITIVE)
    for x, jobs in ((X, 2), (-X, 3), (X + 0.5, 3), (-X - 0.5, 3), (0 * X, 4)):
        assert loaded.run({"x": x})["y"].tolist() == (2 * x[x > 0]).tolist()
        assert len(loaded._jobs) == jobs


def test_the_first_stage_can_be_prepared(load_near: Any) -> None:
    """It is compiled for shapes alone, and found by the run; the next one is made by that."""
    loaded = load_near(POSITIVE)
    loaded.prepare({"x": TensorSpec(X.shape, "float32")})
    assert len(ops_of(loaded)) == 1
    assert loaded.run({"x": X})["y"].tolist() == (2 * X[X > 0]).tolist()
    assert len(ops_of(loaded)) == 2


def test_all_stages_of_a_run_are_kept(load_near: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they are more than the jobs that the model was to keep: none is made twice."""
    made: list[object] = []
    make = JobMaker.make

    def counted(self: JobMaker, *args: Any) -> Any:
        made.append(self)
        return make(self, *args)

    monkeypatch.setattr(JobMaker, "make", counted)
    nodes = [node("Relu", "x", "p0")]
    for i in range(3):
        nodes += [
            node("NonZero", f"p{i}", f"where{i}"),
            node("Transpose", f"where{i}", f"at{i}"),
            node("GatherND", f"p{i} at{i}", f"p{i + 1}"),
        ]
    loaded = load_near(model([*nodes, node("Add", "p3 p3", "y")]), jobs=1)
    for _ in range(3):
        assert loaded.run({"x": X})["y"].tolist() == (2 * X[X > 0]).tolist()
    assert len(loaded._jobs) == len(made) == 4
    loaded.run({"x": -X})
    assert len(loaded._jobs) == 4


def test_what_a_stage_has_computed_is_not_computed_again(load_near: Any) -> None:
    """The second job reads what was looked at, and holds no op of the first."""
    loaded = load_near(POSITIVE)
    loaded.run({"x": X})
    first, second = ops_of(loaded)
    assert {"add", "relu"} <= first
    assert not {"add", "relu"} & second


def test_what_later_stages_read_is_computed_by_the_first(load_near: Any) -> None:
    """Also what nobody looks at between them; each is fed only what it reads."""
    x = np.arange(-60, 60, dtype=np.float32).reshape(4, 30)
    nodes = [
        node("Exp", "x", "e"),
        node("Cos", "x", "last"),
        node("NonZero", "x", "w0"),
        node("Transpose", "w0", "at0"),
        node("GatherND", "e at0", "e0"),
        node("Sub", "e0 one", "e1"),
        node("Relu", "e1", "p"),
        node("NonZero", "p", "w1"),
        node("Transpose", "w1", "at1"),
        node("GatherND", "e1 at1", "e2"),
        node("ReduceSum", "e2", "total", keepdims=0),
        node("Mul", "last total", "y"),
    ]
    loaded = load_near(model(nodes, [info("x", x.shape)], weights={"one": np.array(1, np.float32)}))
    e = np.exp(x)
    wanted = np.cos(x) * (e[x > 0] - 1).sum()
    for _ in range(2):
        np.testing.assert_allclose(loaded.run({"x": x})["y"], wanted, rtol=1e-5)
    first, second, third = ops_of(loaded)
    assert {"exp", "cos"} <= first
    assert {"subtract", "relu"} <= second
    assert not {"exp", "cos"} & second
    assert not {"exp", "cos", "subtract", "relu"} & third
    takes = [job.takes for job in loaded._jobs._jobs.values()]
    assert takes[0] == {"x"}
    assert takes[1] == {"measure_2.1/made_0", "kept e"}
    assert takes[2] == {"measure_7.1/made_0", "kept e1", "kept last"}


def test_what_is_there_in_every_stage_is_not_handed_on(load_near: Any) -> None:
    """A table that is quantized, and its rows: only which of them is fed to the second stage."""
    table = np.arange(-120, 120, dtype=np.int8).reshape(12, 20)
    weights = {
        "table": table,
        "scale": np.array(0.5, np.float32),
        "zero": np.array(3, np.int8),
        "axis": np.array([1], np.int64),
    }
    nodes = [
        node("DequantizeLinear", "table scale zero", "t"),
        node("Gather", "t which", "rows"),
        node("ReduceSum", "rows axis", "sums", keepdims=0),
        node("NonZero", "x", "w"),
        node("Transpose", "w", "at"),
        node("GatherND", "x at", "p"),
        node("ReduceSum", "p", "total", keepdims=0),
        node("Mul", "rows total", "y"),
        node("MatMul", "sums t", "z"),
    ]
    inputs = [info("x", X.shape), info("which", (12,), INT64)]
    loaded = load_near(model(nodes, inputs, weights=weights, outputs=[info("y"), info("z")]))
    which = np.arange(12)[::-1].copy()
    real = (table.astype(np.float32) - 3) / 2
    for _ in range(2):
        made = loaded.run({"x": X, "which": which})
        np.testing.assert_allclose(made["y"], real[::-1] * X.sum(), rtol=1e-5)
        np.testing.assert_allclose(made["z"], real[::-1].sum(1) @ real, rtol=1e-5)
    second = list(loaded._jobs._jobs.values())[-1]
    kept = {name for name in second.takes if name.startswith("kept")}
    assert not {"kept t", "kept rows"} & kept
    assert "kept z" in kept or "kept sums" in kept


def test_what_is_found_by_itself_ends_one_stage(load_near: Any) -> None:
    """Three choices, each of a picture of its own: one job that computes all, one that reads."""
    nodes = []
    for i in range(3):
        nodes += [
            node("Sub", f"x level{i}", f"p{i}"),
            node("Relu", f"p{i}", f"q{i}"),
            node("NonZero", f"q{i}", f"where{i}"),
            node("Transpose", f"where{i}", f"at{i}"),
            node("GatherND", f"p{i} at{i}", f"chosen{i}"),
        ]
    nodes.append(node("Concat", "chosen0 chosen1 chosen2", "y", axis=0))
    levels = {f"level{i}": np.array(i, np.float32) for i in range(3)}
    loaded = load_near(model(nodes, weights=levels))
    wanted = [number - level for level in range(3) for number in X[level < X]]
    for _ in range(2):
        assert loaded.run({"x": X})["y"].tolist() == wanted
    assert len(loaded._jobs) == 2


def test_numbers_are_drawn_once_whichever_stage_reads_them(load_near: Any) -> None:
    """What the first stage draws behind the node that it ends at is no other node's draw."""
    nodes = [
        node("NonZero", "x", "where"),
        node("Transpose", "where", "at"),
        node("GatherND", "x at", "p"),
        node("RandomNormalLike", "p", "late"),
        node("RandomNormal", "", "early", shape=[4]),
        node("Add", "early early", "twice"),
        node("Sub", "twice early", "again"),
        node("Sub", "early again", "none"),
        node("Sub", "early late", "differ"),
        node("Concat", "none differ", "y", axis=0),
    ]
    x = np.zeros((200, 200), np.float32)
    x[0, :4] = 1
    y = load_near(model(nodes, [info("x", x.shape)])).run({"x": x})["y"]
    assert np.abs(y[:4]).max() < 1e-6
    assert np.abs(y[4:]).min() > 0


def test_what_cannot_be_imported_is_told_by_the_stage_that_comes_to_it(load_near: Any) -> None:
    """A node behind the end of a stage is as wrong as it was; those before it are run."""
    nodes = [
        node("NonZero", "x", "where"),
        node("Transpose", "where", "at"),
        node("MatMul", "x x", "wrong"),
        node("GatherND", "wrong at", "y"),
    ]
    loaded = load_near(model(nodes))
    with pytest.raises(InvalidModelError, match=r"making 'wrong'"):
        loaded.run({"x": X})


def test_what_is_kept_may_be_asked_for_its_value(load_near: Any) -> None:
    """A length that an earlier stage computed decides a shape of a later one."""
    x = np.zeros((200, 200), np.float32)
    nodes = [
        node("ReduceMax", "x", "top", keepdims=0),
        node("Cast", "top", "length", to=INT64),
        node("NonZero", "x", "where"),
        node("Transpose", "where", "at"),
        node("GatherND", "x at", "p"),
        node("Reshape", "length minus", "shape"),
        node("ReduceSum", "p", "total", keepdims=0),
        node("Expand", "total shape", "y"),
    ]
    loaded = load_near(model(nodes, [info("x", x.shape)], weights={"minus": np.array([-1])}))
    for top in (3, 5, 3):
        x[0, :2] = top, 1
        assert loaded.run({"x": x})["y"].tolist() == [top + 1] * top


def test_boxes_are_chosen_of_what_was_computed(load_near: Any) -> None:
    """A detector: boxes and scores are computed, chosen on the host, and gathered on the device."""
    source = model(
        [
            node("Add", "b shift", "boxes"),
            node("Sigmoid", "s", "scores"),
            node("NonMaxSuppression", "boxes scores most overlap least", "chosen"),
            node("Gather", "chosen two", "index", axis=1),
            node("Squeeze", "boxes first", "flat"),
            node("Gather", "flat index", "y", axis=0),
        ],
        [info("b", [1, "n", 4]), info("s", [1, 1, "n"])],
        weights={
            "shift": np.full(4, 10, np.float32),
            "most": np.array(9),
            "overlap": np.array(0.5, np.float32),
            "least": np.array(0.5, np.float32),
            "two": np.array(2),
            "first": np.array([0]),
        },
    )
    boxes = np.array([[[0, 0, 2, 2], [0, 0, 2, 1.9], [4, 4, 5, 5]]], np.float32)
    loaded = load_near(source)
    for scores, wanted in (((1, 2, 1), (1, 2)), ((2, 1, -1), (0,)), ((-1, -1, -1), ())):
        made = loaded.run({"b": boxes, "s": np.array([[scores]], np.float32)})["y"]
        assert made.tolist() == (boxes[0, list(wanted)] + 10).tolist()


def test_a_value_computed_of_much_becomes_a_part_of_the_next_job(load_near: Any) -> None:
    """How often a number is repeated is the sum of a picture, which itself is fed as ever."""
    many = np.zeros((200, 200), np.float32)
    source = model(
        [
            node("ReduceSum", "x", "total", keepdims=0),
            node("Cast", "total", "count", to=INT64),
            node("Reshape", "count one", "shape"),
            node("Expand", "corner shape", "y"),
            node("ReduceMax", "x", "corner", keepdims=0),
        ],
        [info("x", [200, 200])],
        weights={"one": np.array([1])},
    )
    assert many.nbytes > limits.SPECIALISED_BYTES
    loaded = load_near(source)
    for count in (3, 2, 3):
        many[0, 0] = count
        assert loaded.run({"x": many})["y"].tolist() == [count] * count
    assert len(loaded._jobs) == 3  # one that sums, and one for each sum


def test_a_value_that_a_net_computes_becomes_a_part_of_the_next_job_alone(load_near: Any) -> None:
    """How long the answer is, a net says of a few numbers: all of them run the job of the net."""
    loaded = load_near(
        model(
            [
                node("MatMul", "x w", "hidden"),
                node("ReduceMax", "hidden", "most", keepdims=0),
                node("Cast", "most", "count", to=INT64),
                node("Range", "zero count one", "numbers"),
                node("Cast", "numbers", "y", to=FLOAT),
            ],
            [info("x", [1, 4])],
            weights={
                "w": np.full((4, 5000), 0.25, np.float32),
                "zero": np.array(0),
                "one": np.array(1),
            },
        )
    )
    assert limits.SPECIALISED_BYTES < 4 * 5000 * 4
    for count in (3, 2, 3):
        made = loaded.run({"x": np.full((1, 4), count, np.float32)})["y"]
        assert made.tolist() == list(range(count))
    assert len(loaded._jobs) == 3  # the net, and one for each length


def test_what_is_not_folded_of_a_known_input_is_computed_by_a_stage(
    load_near: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shape that is fed became a part of the job, and much is computed of it, then a length."""
    monkeypatch.setattr("headrace.graph.builder.FOLD_LIMIT_BYTES", 64)
    loaded = load_near(
        model(
            [
                node("Expand", "half shape", "halves"),
                node("ReduceSum", "halves", "sum", keepdims=0),
                node("Cast", "sum", "count", to=INT64),
                node("Range", "zero count one", "numbers"),
                node("Cast", "numbers", "y", to=FLOAT),
            ],
            [info("shape", [1], INT64)],
            weights={"half": np.float32(0.5), "zero": np.array(0), "one": np.array(1)},
        )
    )
    for size in (100, 60):
        made = loaded.run({"shape": np.array([size])})["y"]
        assert made.tolist() == list(range(size // 2))


def test_more_stages_than_there_may_be_are_refused(
    load_near: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit and the node are named, and the model runs on once it is raised."""
    nodes = [node("Flatten", "x", "u0", axis=0)]
    for turn in range(3):
        nodes += [
            node("Greater", f"u{turn} least", f"more{turn}"),
            node("Compress", f"u{turn} more{turn}", f"u{turn + 1}", axis=1),
        ]
    loaded = load_near(model([*nodes, node("Neg", "u3", "y")], weights={"least": np.float32(0)}))
    monkeypatch.setattr(limits, "STAGES", 2)
    with pytest.raises(ResourceLimitError, match=r"making 'u3'.* stage 3 .*2 are run"):
        loaded.run({"x": X})
    monkeypatch.setattr(limits, "STAGES", 3)
    assert loaded.run({"x": X})["y"].tolist() == [[-1, -3, -5, -6]]


def test_a_submitted_run_gives_what_a_run_gives(load_near: Any) -> None:
    """The last stage is under way when the call returns."""
    futures = [load_near(POSITIVE).submit({"x": x}) for x in (X, -X)]
    assert [future.result()["y"].tolist() for future in futures] == [[2, 6, 10, 12], [4, 8]]


@pytest.mark.parametrize(
    "ask",
    [
        lambda loaded, x: loaded.plan_for({"x": x}),
        lambda loaded, x: loaded.passes_for({"x": x}),
        lambda loaded, x: loaded.explain({"x": x}),
        lambda loaded, x: loaded.plan_page({"x": x}),
        lambda loaded, x: loaded.stages_for({"x": x}),
        lambda loaded, x: loaded.trace({"x": x}),
        lambda loaded, x: loaded.save_plan(Path("never"), {"x": x}),
    ],
    ids=["plan", "passes", "explain", "page", "stages", "trace", "save"],
)
def test_there_is_no_one_plan_of_several_stages(load_near: Any, ask: Any) -> None:
    """Who asks for it is told where the first stage ends; the model is as good as before."""
    loaded = load_near(POSITIVE)
    with pytest.raises(UnsupportedModelError, match=r"making 'where'.* runs in stages"):
        ask(loaded, X)
    assert loaded.run({"x": X})["y"].tolist() == [2, 6, 10, 12]


def test_a_part_that_is_known_ends_no_stage(load_near: Any) -> None:
    """What is computed of weights alone is looked at while the model is imported."""
    source = model(
        [node("NonZero", "w", "at"), node("Transpose", "at", "t"), node("GatherND", "x t", "y")],
        weights={"w": np.array([[0, 1, 0], [1, 0, 1]])},
    )
    loaded = load_near(source)
    assert loaded.plan_for({"x": TensorSpec((2, 3), "float32")}).tasks
    assert loaded.run({"x": X})["y"].tolist() == [-2, -4, 6]


def test_uniques_and_choices_are_measured_too(load_near: Any) -> None:
    """Two measures, one of what the other made: three jobs."""
    source = model(
        [
            node("Abs", "x", "a"),
            node("Unique", "a", "u - - n"),
            node("Greater", "n one", "often"),
            node("Compress", "u often", "y"),
        ],
        weights={"one": np.array(1)},
    )
    loaded = load_near(source)
    x: Array = np.array([[1, -1, 3], [3, -5, 1]], np.float32)
    assert loaded.run({"x": x})["y"].tolist() == [1, 3]
    assert len(loaded._jobs) == 3


def test_a_name_that_stages_use_is_refused(load_near: Any) -> None:
    """An input of that name would be taken for what an earlier stage found."""
    named = model(
        [node("Add", "x measure_1.1/read_0", "t"), node("NonZero", "t", "y")],
        [info("x"), info("measure_1.1/read_0")],
        [info("y", None, INT64)],
    )
    with pytest.raises(InvalidModelError, match=r"input is called 'measure_1\.1/read_0'"):
        load_near(named).run({"x": X, "measure_1.1/read_0": X})
