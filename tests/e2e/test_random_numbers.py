"""Models that draw random numbers: their distribution, and which calls have the same ones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import headrace
from headrace.onnx import load
from headrace.tensor_spec import Array, TensorSpec

N = 40_000
X = np.zeros((4, N // 4), np.float32)


def model(*nodes: Any, outputs: str = "y", **weights: Any) -> ModelProto:
    """A model of ``x``."""
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, None])
    gives = [helper.make_empty_tensor_value_info(name) for name in outputs.split()]
    graph = helper.make_graph(list(nodes), "g", [x], gives, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def node(op: str, inputs: str, outputs: str, **attrs: Any) -> Any:
    return helper.make_node(op, inputs.split(), outputs.split(), **attrs)


def drawn(device: str, *nodes: Any, x: Array = X, **weights: Any) -> Array:
    with load(model(*nodes, **weights), device) as loaded:
        return loaded.run({"x": x})["y"]


def assert_distributed(numbers: Array, cumulative: Any) -> None:
    """Kolmogorov and Smirnov: the largest distance is above this in one of 10**9 samples."""
    found = np.sort(numbers.astype(np.float64).reshape(-1))
    said = np.array([cumulative(x) for x in found])
    rank = np.arange(1, found.size + 1) / found.size
    assert np.abs(said - rank).max() < 3.3 / math.sqrt(found.size)


@pytest.mark.parametrize("seed", [{}, {"seed": 7.0}])
@pytest.mark.parametrize("like", [True, False])
def test_normal_numbers(device: str, like: bool, seed: dict[str, float]) -> None:
    """With the mean and the deviation that the model says."""
    attrs = {"mean": 3.0, "scale": 2.0, **seed}
    draw = (
        node("RandomNormalLike", "x", "y", **attrs)
        if like
        else node("RandomNormal", "", "y", shape=X.shape, **attrs)
    )
    y = drawn(device, draw)
    assert (y.shape, y.dtype) == (X.shape, np.float32)
    assert_distributed(y, lambda x: (1 + math.erf((x - 3) / 2 / math.sqrt(2))) / 2)


@pytest.mark.parametrize("seed", [{}, {"seed": 7.0}])
@pytest.mark.parametrize("like", [True, False])
def test_uniform_numbers(device: str, like: bool, seed: dict[str, float]) -> None:
    """From the least on, and below the greatest."""
    attrs = {"low": -1.0, "high": 3.0, **seed}
    draw = (
        node("RandomUniformLike", "x", "y", **attrs)
        if like
        else node("RandomUniform", "", "y", shape=X.shape, **attrs)
    )
    y = drawn(device, draw)
    assert y.min() >= -1
    assert y.max() < 3
    assert_distributed(y, lambda x: (x + 1) / 4)


@pytest.mark.parametrize("dtype", [TensorProto.DOUBLE, TensorProto.FLOAT16])
def test_other_dtypes(device: str, dtype: int) -> None:
    """As the model says."""
    y = drawn(device, node("RandomUniformLike", "x", "y", dtype=dtype))
    assert y.dtype == helper.tensor_dtype_to_np_dtype(dtype)
    assert abs(float(y.astype(np.float64).mean()) - 0.5) < 0.02


def test_trials(device: str) -> None:
    """Each succeeds as often as its probability says."""
    chances = np.repeat(np.array([[0.0], [0.2], [0.9], [1.0]], np.float32), N // 4, axis=1)
    y = drawn(device, node("Bernoulli", "x", "y"), x=chances)
    assert set(np.unique(y)) == {0, 1}
    np.testing.assert_allclose(y.mean(1), [0, 0.2, 0.9, 1], atol=0.03)


@pytest.mark.parametrize("seed", [{}, {"seed": 7.0}])
def test_classes(device: str, seed: dict[str, float]) -> None:
    """As often as their probabilities say, given as logarithms of a sum that is not 1."""
    odds = np.array([[1, 2, 5], [4, 4, 0]], np.float32)
    with np.errstate(divide="ignore"):
        x = np.log(odds)
    x[~np.isfinite(x)] = -1e9
    draw = node("Multinomial", "x", "y", sample_size=N, dtype=TensorProto.INT64, **seed)
    y = drawn(device, draw, x=x)
    assert (y.shape, y.dtype) == ((2, N), np.int64)
    for row, chances in zip(y, odds / 8, strict=True):
        found = np.bincount(row, minlength=3) / N
        np.testing.assert_allclose(found, chances, atol=0.02)


def test_dropout_that_trains(device: str) -> None:
    """What is dropped is 0, and what is left is grown by as much; the mask says which."""
    x = np.ones((4, N // 4), np.float32)
    source = model(
        node("Dropout", "x ratio on", "y mask"),
        outputs="y mask",
        ratio=np.float32(0.25),
        on=np.array(True),
    )
    with load(source, device) as loaded:
        y, mask = loaded.run({"x": x}).values()
    np.testing.assert_array_equal(y, np.where(mask, np.float32(1 / 0.75), 0))
    assert abs(mask.mean() - 0.75) < 0.02


def test_each_call_draws_its_own_numbers(device: str) -> None:
    """Also two nodes of one call; what has a seed is the same always, and whatever the device."""
    source = model(
        node("RandomNormalLike", "x", "a"),
        node("RandomNormalLike", "x", "b"),
        node("RandomNormalLike", "x", "c", seed=3.0),
        node("RandomNormalLike", "x", "d", seed=4.0),
        outputs="a b c d",
    )
    with load(source, device) as loaded:
        calls = [loaded.run({"x": X}) for _ in range(2)]
        calls.append(loaded.submit({"x": X}).result())
    fresh = [call[name] for call in calls for name in "ab"]
    for index, one in enumerate(fresh):
        for other in fresh[:index]:
            assert not np.array_equal(one, other)
    for name in "cd":
        assert np.array_equal(calls[0][name], calls[2][name])
    assert not np.array_equal(calls[0]["c"], calls[0]["d"])


def test_shapes_that_depend_on_what_was_drawn(device: str) -> None:
    """A model that runs in stages is fed the same numbers in each, and others in the next call."""
    source = model(
        node("RandomUniformLike", "x", "r"),
        node("Less", "r half", "small"),
        node("Cast", "small", "ones", to=TensorProto.FLOAT),
        node("NonZero", "ones", "places"),
        node("Compress", "r small", "kept"),
        node("ReduceSum", "ones", "count", keepdims=0),
        outputs="kept count places",
        half=np.float32(0.5),
    )
    with load(source, device) as loaded:
        calls = [loaded.run({"x": X[:, :50]}) for _ in range(3)]
    for call in calls:
        assert call["kept"].size == call["count"] == call["places"].shape[1]
        assert call["kept"].max() < 0.5
    assert not np.array_equal(calls[0]["kept"], calls[1]["kept"])


def test_a_loop_draws_in_each_turn(device: str) -> None:
    """How often it runs depends on what is drawn."""
    body = helper.make_graph(
        [
            node("RandomUniformLike", "s", "r"),
            node("Add", "s r", "s_out"),
            node("ReduceMax", "s_out", "greatest", keepdims=0),
            node("Less", "greatest ten", "go_out"),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("s", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("go_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("s_out", TensorProto.FLOAT, None),
        ],
        [numpy_helper.from_array(np.float32(10), "ten")],
    )
    y = drawn(device, helper.make_node("Loop", ["", "", "x"], ["y"], body=body), x=X[:1, :1])
    assert 10 <= y.item() < 11


def test_a_saved_plan_takes_what_is_drawn(device: str, tmp_path: Path) -> None:
    """It is an input, whose name says what it should be fed."""
    source = model(node("RandomNormalLike", "x", "r"), node("Add", "x r", "y"))
    with load(source, device) as loaded:
        loaded.save_plan(tmp_path / "plan", {"x": TensorSpec.of(X)})
    with headrace.load_plan(tmp_path / "plan") as plan:
        assert list(plan.inputs) == ["x", f"random normal {TensorSpec.of(X)} 0.1"]
        numbers = np.random.default_rng(0).standard_normal(X.shape).astype(np.float32)
        y = plan.run(dict(zip(plan.inputs, [X + 1, numbers], strict=True)))["y"]
    np.testing.assert_array_equal(y, X + 1 + numbers)


def test_kept_plans_draw_too(device: str, tmp_path: Path) -> None:
    """A model whose plan an earlier process has kept is fed as one that was compiled."""
    path = tmp_path / "model.onnx"
    path.write_bytes(model(node("RandomNormalLike", "x", "y")).SerializeToString())
    found = []
    for _ in range(2):
        with load(path, device) as loaded:
            found.append(loaded.run({"x": X})["y"])
    assert abs(float(found[1].std()) - 1) < 0.05
    assert not np.array_equal(*found)
