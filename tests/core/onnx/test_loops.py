"""Loops: written out as often as they run, or refused with the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, helper
from onnx_models import BOOL, FLOAT, INT64, info, model, node

from headrace.errors import InvalidModelError, ResourceLimitError, UnsupportedModelError
from headrace.onnx.file import limits
from headrace.onnx.file.read import read_model
from headrace.onnx.importing.importer import Importer
from headrace.placement import Placement
from headrace.tensor_spec import TensorSpec

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def doubling(condition: str = "go", slices: bool = True) -> GraphProto:
    """state = state + state; goes on while its first element is below 20; slices are the states."""
    nodes = [
        node("Add", "s s", "s_out"),
        node("Slice", "s_out zero one", "first"),
        node("Squeeze", "first", "scalar"),
        node("Less", "scalar twenty", "below"),
        node("Identity", "go", "go_out"),
        node("Identity", "s_out", "copy"),
    ]
    weights = {"zero": np.array([0]), "one": np.array([1]), "twenty": np.float32(20)}
    outputs = [info("below" if condition == "below" else "go_out", [], BOOL), info("s_out", [1])]
    outputs += [info("copy", [1])] if slices else []
    return helper.make_graph(
        nodes,
        "body",
        [info("i", [], INT64), info("go", [], BOOL), info("s", [1])],
        outputs,
        [helper.make_tensor(name, *_typed(w)) for name, w in weights.items()],
    )


def _typed(weight: Any) -> tuple[int, tuple[int, ...], list[Any]]:
    array = np.asarray(weight)
    return helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, array.reshape(-1).tolist()


def looped(body: GraphProto, trips: str = "", go: str = "", **weights: Any) -> ModelProto:
    made = [node("Loop", f"{trips or '-'} {go or '-'} x", "y all", body=body)]
    inputs = [info("x", [1])]
    inputs += [info("n", [], INT64)] if trips and trips not in weights else []
    return model(made, inputs, [info("y", [1]), info("all", None)], weights)


def test_a_loop_runs_as_often_as_its_trip_count_says(load_near: Any) -> None:
    """The count may be fed: each has a job of its own."""
    loaded = load_near(looped(doubling(), "n"))
    for count in (3, 1, 3):
        made = loaded.run({"x": np.array([1], np.float32), "n": np.int64(count)})
        assert made["y"].tolist() == [2**count]
        assert made["all"].tolist() == [[2**turn] for turn in range(1, count + 1)]


def test_a_loop_ends_when_its_condition_fails(load_near: Any) -> None:
    """A condition that is computed from an input makes its value a part of the job."""
    loaded = load_near(looped(doubling("below")))
    for start, wanted in ((1, 32), (3, 24), (30, 60)):
        assert loaded.run({"x": np.array([start], np.float32)})["y"].tolist() == [wanted]


def test_a_loop_that_never_runs_hands_on_its_state(load_near: Any) -> None:
    """What it stacks is empty, in the shape that the body declares."""
    never = looped(doubling(), "zero", zero=np.int64(0))
    made = load_near(never).run({"x": np.array([7], np.float32)})
    assert made["y"].tolist() == [7]
    assert made["all"].shape == (0, 1)


@pytest.mark.parametrize("shape", [["k"], None])
def test_slices_of_a_loop_that_never_runs_have_the_shape_of_one(load_near: Any, shape: Any) -> None:
    """Where the body declares it by a symbol, or not at all; nothing of the body is computed."""
    body = doubling()
    body.output[2].CopyFrom(info("copy", shape))
    loaded = load_near(looped(body, "n"))
    made = loaded.run({"x": np.array([7], np.float32), "n": np.int64(0)})
    assert made["y"].tolist() == [7]
    assert made["all"].shape == (0, 1)
    (job,) = loaded._jobs._jobs.values()
    assert not [task for task in job.job.plan.tasks if task.call]


def test_what_a_body_brings_is_made_once() -> None:
    """Initializers of the body are not copied for each run."""
    body = doubling(slices=False)
    body.node.append(node("Add", "s_out big", "more"))
    body.initializer.append(helper.make_tensor("big", FLOAT, [1], [1.0]))
    body.output[1].name = "more"
    source = model(
        [node("Loop", "n - x", "y", body=body)],
        [info("x", [1])],
        [info("y", [1])],
        {"n": np.int64(50)},
    )
    importer = Importer(read_model(source), Placement.of_device("near"))
    graph = importer.run({"x": TensorSpec((1,), "float32")}, {})
    ones = [value for value in graph.constants.values() if value.dtype == np.float32]
    assert len(graph.ops) == 100
    assert len(ones) == 1


def test_a_loop_without_end_is_refused(load_near: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is named, and met in the time that as many runs take."""
    monkeypatch.setattr(limits, "ITERATIONS", 20)
    with pytest.raises(ResourceLimitError, match="more than 20 times"):
        load_near(looped(doubling())).run({"x": np.array([1], np.float32)})


def test_a_scan_walks_each_sequence_its_own_way(load_near: Any) -> None:
    """Axes and directions are those of the node; the state goes from run to run."""
    body = helper.make_graph(
        [node("Add", "s a", "t"), node("Add", "t b", "s_out"), node("Identity", "s_out", "o")],
        "body",
        [info("s", [2]), info("a", [2]), info("b", [2])],
        [info("s_out", [2]), info("o", [2])],
    )
    scan = node(
        "Scan", "w x z", "last y", body=body, num_scan_inputs=2, scan_input_axes=[1, -2],
        scan_input_directions=[0, 1], scan_output_axes=[-1], scan_output_directions=[1],
    )  # fmt: skip
    z = 10 * np.arange(6, dtype=np.float32).reshape(3, 2)
    source = model(
        [scan],
        [info("x", [2, 3]), info("z", [3, 2])],
        [info("last", [2]), info("y", [2, 3])],
        {"w": np.array([100, 200], np.float32)},
    )
    made = load_near(source).run({"x": X, "z": z})
    states = np.array([[100], [200]], np.float32) + np.cumsum(X + z[::-1].T, axis=1)
    np.testing.assert_array_equal(made["last"], states[:, -1])
    np.testing.assert_array_equal(made["y"], states[:, ::-1])


@pytest.mark.parametrize(
    ("attrs", "error", "says"),
    [
        ({"num_scan_inputs": 3}, InvalidModelError, "num_scan_inputs is 3"),
        ({"scan_input_axes": [2]}, InvalidModelError, "axis 2"),
        ({"scan_input_directions": [0, 1]}, InvalidModelError, "2 numbers for 1"),
        ({"scan_output_axes": [0, 0]}, InvalidModelError, "2 numbers for 1"),
    ],
)
def test_a_scan_that_does_not_fit_is_refused(
    load_near: Any, attrs: dict[str, Any], error: type[Exception], says: str
) -> None:
    """The attribute and its numbers are in the message."""
    body = helper.make_graph([node("Identity", "a", "o")], "b", [info("a")], [info("o")])
    given = {"num_scan_inputs": 1, **attrs}
    with pytest.raises(error, match=says):
        load_near(model([node("Scan", "x", "y", body=body, **given)])).run({"x": X})


def test_a_body_of_another_form_is_refused(load_near: Any) -> None:
    """A body takes the number of the run, the condition and the state."""
    body = doubling()
    del body.input[2]
    body.node[0].CopyFrom(node("Identity", "x", "s_out"))
    with pytest.raises(InvalidModelError, match="2 inputs and 3 outputs"):
        load_near(looped(body, "n", n=np.int64(1))).run({"x": np.array([1], np.float32)})


def test_ops_in_bodies_are_asked_for_when_a_model_is_loaded(load_near: Any) -> None:
    """A body is imported whatever is fed, so what it lacks is said at once."""
    body = doubling()
    body.node.append(node("StringNormalizer", "s", "unused"))
    body.output.append(info("unused", [], INT64))
    source = model(
        [node("Loop", "n - x", "y all many", body=body)],
        [info("x", [1])],
        [info("y", [1]), info("many", None, INT64)],
        {"n": np.int64(1)},
    )
    with pytest.raises(UnsupportedModelError, match="StringNormalizer"):
        load_near(source)
