"""``headrace explain``: a model's nodes, where they run, and what the device lacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from click.testing import Result
from onnx import ModelProto
from onnx_models import info, model, node

Headrace = Callable[..., Result]
Save = Callable[[ModelProto], Path]

MODEL = model(
    [
        node("Add", "c c", "d"),
        node("Add", "x d", "y"),
        node("Tanh", "y", "z"),
        node("Relu", "x", "unread"),
        node("Relu", "y", "w"),
    ],
    inputs=(info("x", (3,)),),
    outputs=(info("z", (3,)), info("w", (3,))),
    weights={"c": np.ones(3, np.float32)},
)


def test_each_node_has_a_row(headrace: Headrace, save: Save) -> None:
    """Nodes that became constants, or that nobody reads, have one too."""
    result = headrace("explain", save(MODEL), "--device", "near", "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert document["runs"] is False
    hows = [row["how"] for row in document["nodes"]]
    assert hows == ["folded", "kernel", "unsupported", "unused", "kernel"]
    assert document["job"]["missing"] == [["tanh of float32", 1]]
    assert document["nodes"][1]["ops"][0]["kernels"] == ["near: add for any"]


def test_the_summary_counts_and_lists_what_is_missing(headrace: Headrace, save: Save) -> None:
    """That list is what the author of the device's plugin does next."""
    result = headrace("explain", save(MODEL), "--device", "far")
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert "5 nodes: 1 folded, 2 kernel, 1 unsupported, 1 unused" in lines
    assert lines[-2:] == ["what far:0 lacks, most wanted first:", "  1 x tanh of float32"]


def test_a_model_that_runs_has_its_bytes(headrace: Headrace, save: Save) -> None:
    """x goes to the device once, the result comes back; the weight lies there."""
    small = model(
        [node("Add", "x c", "y"), node("Relu", "y", "z")],
        inputs=(info("x", (3,)),),
        outputs=(info("z", (3,)),),
        weights={"c": np.ones(3, np.float32)},
    )
    result = headrace("explain", save(small), "--device", "far")
    assert result.exit_code == 0, result.output
    assert (
        "copied in each run: 12 bytes to devices, 0 bytes back for ops, 12 bytes of results"
        in result.stdout
    )
    assert "weights: 12 bytes" in result.stdout
