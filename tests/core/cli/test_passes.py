"""``headrace explain`` and ``headrace plan`` say which passes of plugins ran."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from onnx import ModelProto
from onnx_models import info, model, node
from plugin_ops import fuse, hello
from toy_backends import near

from headrace.graph import JobGraph
from headrace.registry import BackendRegistry

Headrace = Callable[..., Result]
Save = Callable[[ModelProto], Path]

MODEL = model(
    [node("Add", "x x", "t"), node("Relu", "t", "y")],
    inputs=(info("x", (3,)),),
    outputs=(info("y", (3,)),),
)
FUSED = (
    "pass fuse of module headrace_hello (device 'hello') changed the job, from 2 to 1 ops",
    "pass look of module headrace_hello (device 'hello') left the job as it was",
)


def look(graph: JobGraph) -> JobGraph:
    """A pass that finds nothing to do."""
    return graph


@pytest.fixture
def registry() -> BackendRegistry:
    """``hello`` with two passes, ``near`` with none."""
    return BackendRegistry.from_modules({"hello": hello(fuse, look), "near": near()})


@pytest.mark.parametrize("command", ["explain", "plan"])
def test_passes_that_ran_are_listed(headrace: Headrace, save: Save, command: str) -> None:
    """In their order, each with what it did to the job."""
    result = headrace(command, save(MODEL), "--device", "hello")
    assert result.exit_code == 0
    said = [line for line in result.stdout.splitlines() if line.startswith("pass ")]
    assert tuple(said) == FUSED


@pytest.mark.parametrize("command", ["explain", "plan"])
def test_passes_of_other_devices_are_not_listed(
    headrace: Headrace, save: Save, command: str
) -> None:
    """A job that does not use the device says nothing of its plugin."""
    result = headrace(command, save(MODEL), "--device", "near")
    assert result.exit_code == 0
    assert "pass " not in result.stdout


def test_the_document_lists_passes(headrace: Headrace, save: Save) -> None:
    """Programs read the same, in fields; the op shown is the one that the pass put there."""
    result = headrace("explain", save(MODEL), "--device", "hello", "--json")
    job = json.loads(result.stdout)["job"]
    origin = "module headrace_hello"
    assert job["passes"] == [
        {"tag": "hello", "name": "fuse", "origin": origin, "changed": True}
        | {"ops_before": 2, "ops_after": 1},
        {"tag": "hello", "name": "look", "origin": origin, "changed": False}
        | {"ops_before": 1, "ops_after": 1},
    ]
    assert [op["op"] for op in job["ops"]] == ["hello.add_relu(float32[3], float32[3])"]
