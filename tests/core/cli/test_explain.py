"""``headrace explain``: a model's nodes, where they run, and what the device lacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from onnx import ModelProto
from onnx_models import info, model, node
from toy_backends import near

from headrace.cli import main
from headrace.device import CHANNELS_LAST, KernelEntry
from headrace.numpy_ops import NumpyKernel
from headrace.registry import BackendRegistry

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


@pytest.fixture
def last() -> BackendRegistry:
    """A registry whose device convolves channels last alone."""
    conv = KernelEntry("near", "conv", NumpyKernel, data_formats=(CHANNELS_LAST,))
    return BackendRegistry.from_modules({"near": near(("reshape", "transpose"), more=[conv])})


def test_a_chosen_format_is_shown(
    last: BackendRegistry, save: Save, install: Callable[[BackendRegistry], object]
) -> None:
    """With what speaks for it; what was moved for it counts as part of the node."""
    image = model(
        [node("Conv", "x w", "y")],
        inputs=(info("x", (1, 2, 4, 4)),),
        outputs=(info("y", (1, 2, 4, 4)),),
        weights={"w": np.ones((2, 2, 1, 1), np.float32)},
    )
    install(last)
    result = CliRunner().invoke(main, ["explain", str(save(image)), "--device", "near"])
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert (
        "near: transpose for any; near: conv for any; channels_last: the only format that" in said
    )
