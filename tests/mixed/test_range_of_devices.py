"""Models on a range of devices, from the command line and from Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from onnx import TensorProto, helper

import headrace.onnx
from headrace.cli import main

X = np.arange(15, dtype=np.float32).reshape(5, 3) - 7


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Of an open batch, whose outputs are not all split along it."""
    x, y, z = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", ["n", 3]), ("y", ["n", 3]), ("z", []))
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["y"]),
        helper.make_node("ReduceSum", ["y"], ["z"], keepdims=0),
    ]
    made = helper.make_model(helper.make_graph(nodes, "graph", [x], [y, z]))
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())
    np.save(tmp_path / "x.npy", X)
    return path


def headrace_command(*words: object) -> Result:
    """Run the command; it must succeed."""
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result


def check(folder: Path) -> None:
    """Compare what was written with numpy."""
    np.testing.assert_array_equal(np.load(folder / "y.npy"), np.maximum(X, 0))
    np.testing.assert_array_equal(np.load(folder / "z.npy"), np.maximum(X, 0).sum())


@pytest.mark.parametrize("device", ["fakedevice:0-1", "fakedevice:1-3", "cpu:0-0"])
def test_the_batch_is_shared(model: Path, tmp_path: Path, device: str) -> None:
    """Outputs are whole and those that one device gives, whether or not the batch divides."""
    x = f"x={tmp_path / 'x.npy'}"
    result = headrace_command("run", model, "--device", device, "--input", x, "--output", tmp_path)
    name = {"cpu:0-0": "cpu:0"}.get(device, device)
    assert any(line.endswith(f" on {name}") for line in result.stdout.splitlines())
    check(tmp_path)


def test_a_plan_for_a_range_is_run_on_it(model: Path, tmp_path: Path) -> None:
    """And on no other devices."""
    plan, there = tmp_path / "model.plan", ("--device", "fakedevice:0-2")
    headrace_command("compile", model, *there, "--dim", "n=5", "-o", plan)
    words = ("run", plan, "--input", f"x={tmp_path / 'x.npy'}", "--output", tmp_path)
    headrace_command(*words, *there)
    check(tmp_path)
    headrace_command(*words)
    refused = CliRunner().invoke(main, [*map(str, words), "--device", "fakedevice:0-1"])
    assert refused.exit_code == 2
    assert "was compiled for fakedevice:0, fakedevice:1, fakedevice:2" in refused.stderr


def test_what_is_split_is_said(model: Path) -> None:
    """By the log of what boxing did."""
    words = ("--device", "fakedevice:0-1", "--dim", "n=5", "--stage", "boxing")
    assert "-> S(0) on fakedevice 0:0-1" in headrace_command("plan", model, *words).stdout


def test_a_batch_that_is_too_short_is_run_whole(model: Path) -> None:
    """On each device: nobody is without elements."""
    with headrace.onnx.load(model, "fakedevice:0-3") as loaded:
        assert loaded.device == "fakedevice:0-3"
        np.testing.assert_array_equal(loaded.run({"x": X[:2]})["y"], np.maximum(X[:2], 0))
